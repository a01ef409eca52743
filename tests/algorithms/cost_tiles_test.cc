// SPDX-License-Identifier: Apache-2.0
// Which tiles plans take.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "algorithms/cost/table.h"

namespace weir::cost {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr ChannelRates kBetween = {.alpha = 1e-5, .overhead = 3e-6, .beta = 3e-10};
constexpr size_t kKiB = 1024;

/// Hosts of one rank with cores to spare.
Environment hosts(int ranks, size_t slot_bytes) {
  Environment around = regular(ranks, 1, 8, {{}, kBetween, 0});
  around.slot_bytes = slot_bytes;
  return around;
}

CostTable table_of(std::string_view algorithm, Collective kind, const Environment& around) {
  return {kind, around, [=](const algorithms::Entry& entry) { return entry.algorithm == algorithm; }};
}

/// A chain of n ranks in c passes: n - 1 hops until the first tile is there, then a tile at a time, each with
/// the work of a message.
double chain_seconds(int ranks, double bytes, double tile) {
  const double passes = std::max(1.0, std::ceil(bytes / tile));
  const double piece = bytes / passes * kBetween.beta;
  return (ranks - 1) * (kBetween.alpha + piece) + (passes - 1) * (kBetween.overhead + piece);
}

TEST(Tiles, OfAChainAreSmallUntilMessagesAreTheWork) {
  for (const int ranks : {4, 16}) {
    const CostTable table = table_of("ring", Collective::broadcast, hosts(ranks, 256 * kKiB));
    int small = 0;
    for (size_t bytes = kKiB; bytes <= size_t{1} << 32; bytes *= 2) {
      const auto with = [&](int divisor) {
        return chain_seconds(ranks, static_cast<double>(bytes), 256.0 * kKiB / divisor);
      };
      const Estimate& best = table.at(bytes).best;
      const double least = std::min({with(1), with(2), with(4)});
      EXPECT_NEAR(best.seconds, with(best.tile_divisor), 1e-9 * best.seconds) << bytes;
      EXPECT_LE(best.seconds, 1.01 * least) << bytes;
      if (best.tile_divisor == 1) continue;
      EXPECT_LT(best.seconds * 1.01, with(best.tile_divisor / 2)) << "without need: " << bytes;
      ++small;
    }
    EXPECT_GE(small, 3) << ranks;
    EXPECT_EQ(table.at(64 * kKiB).best.tile_divisor, 1) << "one message in any case";
    EXPECT_EQ(table.at(kKiB * kKiB).best.tile_divisor, 4) << "the fill is the most of it";
    EXPECT_EQ(table.at(size_t{1} << 30).best.tile_divisor, 1) << "the fill is nothing";
  }
}

/// A ring of all-reduce is as busy as it is long: small tiles are more messages and nothing else, but for the
/// second pass.
TEST(Tiles, OfARingAreWholeInTwoPassesOrMore) {
  for (const int ranks : {2, 4, 8}) {
    Environment shared = hosts(ranks, 256 * kKiB);
    shared.machine_of.assign(shared.machine_of.size(), 0);
    shared.cores = {2};
    for (const Environment& around : {hosts(ranks, 256 * kKiB), shared}) {
      const CostTable table = table_of("ring", Collective::all_reduce, around);
      for (int bits = 0; bits < 40; ++bits) {
        const size_t chunk = (size_t{1} << bits) / static_cast<size_t>(ranks);
        const int divisor = chunk == 128 * kKiB ? 4 : chunk == 256 * kKiB ? 2 : 1;
        EXPECT_EQ(table.at(size_t{1} << bits).best.tile_divisor, divisor) << ranks << " ranks, 2^" << bits;
      }
    }
  }
}

/// With what slots of 64 KiB hold there is nothing to choose; larger ones are not cut below that, and at most
/// into quarters.
TEST(Tiles, AreNeverSmallerThanMessagesOf64KiB) {
  const auto divisors = [](size_t slot_bytes) {
    const CostTable table = table_of("ring", Collective::broadcast, hosts(16, slot_bytes));
    int most = 1;
    for (int bits = 0; bits < 40; ++bits)
      most = std::max(most, table.at(size_t{1} << bits).best.tile_divisor);
    return most;
  };
  EXPECT_EQ(divisors(4 * kKiB), 1);
  EXPECT_EQ(divisors(64 * kKiB), 1);
  EXPECT_EQ(divisors(128 * kKiB - 1), 1);
  EXPECT_EQ(divisors(128 * kKiB), 2);
  EXPECT_EQ(divisors(255 * kKiB), 2);
  EXPECT_EQ(divisors(256 * kKiB), 4);
  EXPECT_EQ(divisors(1024 * kKiB), 4);
}

/// What slots of 64 KiB take is what a quarter of 256 KiB takes.
TEST(Tiles, OfAQuarterAreThoseOfSmallerSlots) {
  for (const Collective kind : {Collective::broadcast, Collective::all_reduce}) {
    const CostTable large = table_of("double_tree", kind, hosts(8, 256 * kKiB));
    const CostTable small = table_of("double_tree", kind, hosts(8, 64 * kKiB));
    for (int bits = 0; bits < 36; ++bits) {
      const size_t bytes = size_t{1} << bits;
      const Estimate& best = large.at(bytes).best;
      EXPECT_LE(best.seconds, small.at(bytes).best.seconds) << name(kind) << " " << bytes;
      if (best.tile_divisor == 4) {
        EXPECT_DOUBLE_EQ(best.seconds, small.at(bytes).best.seconds) << bytes;
      }
    }
  }
}

TEST(Tiles, AreInTheRows) {
  const CostTable table = table_of("ring", Collective::broadcast, hosts(16, 256 * kKiB));
  size_t next = 1;
  for (const Row& row : table.rows()) {
    EXPECT_EQ(row.least, next);
    next = row.most + 1;
    EXPECT_EQ(table.at(row.most).best.tile_divisor, row.at_least.best.tile_divisor);
  }
  EXPECT_THAT(lines_of(table), Contains(HasSubstr("  in tiles of 1/4")));
  EXPECT_THAT(lines_of(table).back(), Not(HasSubstr("tiles")));
  EXPECT_EQ(table.seconds("ring", kKiB * kKiB), table.at(kKiB * kKiB).best.seconds);
}

}  // namespace
}  // namespace weir::cost
