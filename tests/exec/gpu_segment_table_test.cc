// SPDX-License-Identifier: Apache-2.0
// Segments of ranks: all rings lie in them, apart, and both ends of one name the same bytes.
#include "src/exec/gpu/segment_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace weir::exec::gpu {
namespace {

using Kind = GpuSegmentTable::Kind;
constexpr Kind kKinds[] = {Kind::bandwidth, Kind::packet, Kind::signal};

class GpuSegmentTables : public ::testing::TestWithParam<int> {
 protected:
  const int ranks = GetParam();
  const GpuSegmentTable::Ranks all{ranks, ranks};
  const size_t bytes = std::max(GpuSegmentTable::least_bytes(all), size_t{7} << 20);
  const GpuSegmentTable table{all, bytes};

  /// Adjacent segments at made-up addresses, which are never dereferenced.
  GpuSegments segments_of(Rank rank) const {
    GpuSegments segments{rank, {}, bytes};
    for (int other = 0; other < ranks; ++other)
      segments.at.push_back(reinterpret_cast<std::byte*>((static_cast<size_t>(other) + 1) * up(bytes)));
    return segments;
  }
  static size_t up(size_t bytes) { return (bytes + 255) / 256 * 256; }
};

TEST_P(GpuSegmentTables, RingsLieInSegmentsAndApart) {
  std::vector<std::pair<size_t, size_t>> taken;  // begin, end
  const auto take = [&](const void* at, size_t bytes) {
    taken.emplace_back(reinterpret_cast<size_t>(at), reinterpret_cast<size_t>(at) + bytes);
  };
  for (Rank rank = 0; rank < ranks; ++rank) {
    const GpuSegments segments = segments_of(rank);
    for (const ByteRange& room : {table.code(), table.scratch()})
      take(segments.at[static_cast<size_t>(rank)] + room.at, room.bytes);
    for (Rank peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      for (const Kind kind : kKinds) {
        for (uint32_t ring = 0; ring < GpuSegmentTable::rings(kind); ++ring) {
          const Port in = table.port(segments, kind, peer, false, ring);
          take(in.slots, size_t{in.count} * in.stride);
          take(in.arrived, arrived_words(in.count) * sizeof(uint64_t));
          take(in.done, sizeof(uint64_t));
          const Port out = table.port(segments, kind, peer, true, ring);
          take(out.taken, sizeof(uint64_t));
          take(out.done, sizeof(uint64_t));
          EXPECT_GE(in.stride,
                    slot_stride(kind == Kind::packet ? RingProtocol::packet : RingProtocol::bandwidth,
                                table.message_bytes(kind)));
        }
      }
    }
  }
  std::sort(taken.begin(), taken.end());
  EXPECT_GE(taken.front().first, up(bytes));
  EXPECT_LE(taken.back().second, (static_cast<size_t>(ranks) + 1) * up(bytes));
  for (size_t i = 1; i < taken.size(); ++i) ASSERT_GE(taken[i].first, taken[i - 1].second) << i;
}

TEST_P(GpuSegmentTables, BothEndsNameTheSame) {
  for (Rank rank = 0; rank < ranks; ++rank) {
    for (Rank peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      for (const Kind kind : kKinds) {
        for (uint32_t ring = 0; ring < GpuSegmentTable::rings(kind); ++ring) {
          const Port out = table.port(segments_of(rank), kind, peer, true, ring);
          const Port in = table.port(segments_of(peer), kind, rank, false, ring);
          const auto shared = [](const Port& port) {
            return std::tuple(port.slots, port.arrived, port.taken, port.count, port.stride);
          };
          ASSERT_EQ(shared(out), shared(in));
          ASSERT_NE(out.done, in.done);
        }
      }
    }
  }
}

/// Ranks of two hosts: segments contain only the rings of ranks on the same host, and the counts of rings to
/// other hosts.
TEST(GpuSegmentTable, OfSeveralHosts) {
  GpuSegments segments;
  segments.rank = 2;
  segments.bytes = size_t{7} << 20;
  segments.local_ranks = {0, 0, 1, 1, 2};  // 0, 3 and 1, 2, 4
  for (const size_t number : {0, 1, 2, 0, 3})
    segments.at.push_back(reinterpret_cast<std::byte*>(number * (size_t{8} << 20)));
  const GpuSegmentTable::Ranks ranks = GpuSegmentTable::Ranks::of(segments);
  EXPECT_EQ(ranks.on_host, 3);
  EXPECT_EQ(ranks.all, 5);
  const GpuSegmentTable table(ranks, segments.bytes), of_one_host({5, 5}, segments.bytes);
  EXPECT_GT(table.message_bytes(Kind::bandwidth), of_one_host.message_bytes(Kind::bandwidth));
  const ByteRange code = table.code();
  std::vector<uint64_t*> counts;
  for (const Rank peer : {0, 3}) {
    for (const bool outgoing : {false, true}) {
      for (uint32_t ring = 0; ring < ProxyRings::kRings; ++ring) {
        counts.push_back(table.count(segments, {peer, outgoing, ring}));
        EXPECT_LE(reinterpret_cast<std::byte*>(counts.back() + 1), segments.own() + code.at);
      }
    }
  }
  std::sort(counts.begin(), counts.end());
  EXPECT_EQ(std::adjacent_find(counts.begin(), counts.end()), counts.end());
  const Port out = table.port(segments, Kind::bandwidth, 4, true, 15);
  GpuSegments others = segments;
  others.rank = 4;
  const Port in = table.port(others, Kind::bandwidth, 2, false, 15);
  EXPECT_EQ(out.slots, in.slots);
  EXPECT_EQ(out.arrived, in.arrived);
  EXPECT_EQ(out.taken, in.taken);
}

/// Ends of rings between hosts lie in their memory and apart; host and GPU name the same bytes.
TEST(ProxyRings, EndsLieApart) {
  ProxyRings rings({1, 5, 6}, 640);
  const size_t host = 1 << 20, on_gpu = size_t{1} << 40;
  rings.bind(reinterpret_cast<std::byte*>(host), reinterpret_cast<std::byte*>(on_gpu));
  std::vector<std::pair<size_t, size_t>> taken;  // begin, end
  const auto take = [&](const void* at, size_t bytes) {
    taken.emplace_back(reinterpret_cast<size_t>(at), reinterpret_cast<size_t>(at) + bytes);
  };
  for (const Rank peer : {1, 5, 6}) {
    for (const bool outgoing : {false, true}) {
      for (uint32_t ring = 0; ring < ProxyRings::kRings; ++ring) {
        const Port port = rings.on_host({peer, outgoing, ring});
        EXPECT_EQ(port.peer, static_cast<uint32_t>(peer));
        EXPECT_EQ(reinterpret_cast<size_t>(port.slots) % 128, 0u);
        take(port.slots, size_t{port.count} * port.stride);
        take(port.arrived, arrived_words(port.count) * sizeof(uint64_t));
        take(port.taken, sizeof(uint64_t));
        const Port there = rings.on_gpu({peer, outgoing, ring});
        EXPECT_EQ(reinterpret_cast<size_t>(there.slots) - on_gpu,
                  reinterpret_cast<size_t>(port.slots) - host);
        EXPECT_EQ(reinterpret_cast<size_t>(there.taken) - on_gpu,
                  reinterpret_cast<size_t>(port.taken) - host);
      }
    }
  }
  std::sort(taken.begin(), taken.end());
  EXPECT_GE(taken.front().first, host);
  EXPECT_LE(taken.back().second, host + rings.bytes());
  for (size_t i = 1; i < taken.size(); ++i) ASSERT_GE(taken[i].first, taken[i - 1].second) << i;
}

TEST(ProxyRings, EndsAreWantedOnce) {
  ProxyRings rings({3}, 64);
  const ProxyRings::End one{3, true, 7}, other{3, false, 7};
  rings.want(one);
  rings.want(other);
  rings.want(one);
  EXPECT_EQ(rings.newly_wanted(), (std::vector{one, other}));
  rings.want(other);
  EXPECT_TRUE(rings.newly_wanted().empty());
}

INSTANTIATE_TEST_SUITE_P(Ranks, GpuSegmentTables, ::testing::Values(2, 3, 8),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::exec::gpu
