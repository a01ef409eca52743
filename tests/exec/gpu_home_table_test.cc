// Homes of ranks: all rings lie in them, apart, and both ends of one name the same bytes.
#include "src/exec/gpu/home_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace weir::exec::gpu {
namespace {

using Kind = HomeTable::Kind;
constexpr Kind kKinds[] = {Kind::bandwidth, Kind::packet, Kind::signal};

class HomeTables : public ::testing::TestWithParam<int> {
 protected:
  const int ranks = GetParam();
  const size_t bytes = std::max(HomeTable::least_bytes(ranks), size_t{7} << 20);
  const HomeTable table{ranks, bytes};

  /// Homes that follow each other, by number only: nothing is stored there.
  Homes homes_of(Rank rank) const {
    Homes homes{rank, {}, bytes};
    for (int other = 0; other < ranks; ++other)
      homes.at.push_back(reinterpret_cast<std::byte*>((static_cast<size_t>(other) + 1) * up(bytes)));
    return homes;
  }
  static size_t up(size_t bytes) { return (bytes + 255) / 256 * 256; }
};

TEST_P(HomeTables, RingsLieInHomesAndApart) {
  std::vector<std::pair<size_t, size_t>> taken;  // begin, end
  const auto take = [&](const void* at, size_t bytes) {
    taken.emplace_back(reinterpret_cast<size_t>(at), reinterpret_cast<size_t>(at) + bytes);
  };
  for (Rank rank = 0; rank < ranks; ++rank) {
    const Homes homes = homes_of(rank);
    for (const Room& room : {table.code(), table.scratch()})
      take(homes.at[static_cast<size_t>(rank)] + room.at, room.bytes);
    for (Rank peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      for (const Kind kind : kKinds) {
        for (uint32_t ring = 0; ring < HomeTable::rings(kind); ++ring) {
          const Port in = table.port(homes, kind, peer, false, ring);
          take(in.slots, size_t{in.count} * in.stride);
          take(in.arrived, arrived_words(in.count) * sizeof(uint64_t));
          take(in.done, sizeof(uint64_t));
          const Port out = table.port(homes, kind, peer, true, ring);
          take(out.taken, sizeof(uint64_t));
          take(out.done, sizeof(uint64_t));
          EXPECT_GE(in.stride, slot_stride(kind == Kind::packet ? Profile::packet : Profile::bandwidth,
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

TEST_P(HomeTables, BothEndsNameTheSame) {
  for (Rank rank = 0; rank < ranks; ++rank) {
    for (Rank peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      for (const Kind kind : kKinds) {
        for (uint32_t ring = 0; ring < HomeTable::rings(kind); ++ring) {
          const Port out = table.port(homes_of(rank), kind, peer, true, ring);
          const Port in = table.port(homes_of(peer), kind, rank, false, ring);
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

INSTANTIATE_TEST_SUITE_P(Ranks, HomeTables, ::testing::Values(2, 3, 8), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::exec::gpu
