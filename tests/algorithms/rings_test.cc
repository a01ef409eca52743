// SPDX-License-Identifier: Apache-2.0
// Rings packed into networks, against figures that others computed and against what their plans load.
#include "algorithms/rings/pack_rings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/catalogue/ring_set.h"
#include "algorithms/sim/plan_loads.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

RingPacking packed(const Network& network) {
  auto packing = pack_rings(network);
  EXPECT_TRUE(packing.ok()) << packing.status().message();
  return packing.ok() ? *packing : RingPacking{};
}

/// Rings that pass every rank once, whose all-gather loads links with what the packing says.
void expect_sound(const Network& network, const RingPacking& packing) {
  const int ranks = network.ranks();
  const Layout layout{.rings = spelled_out(packing)};
  EXPECT_EQ(check_rings(layout.rings, ranks).message(), "");
  EXPECT_EQ(layout.rings.size(), static_cast<size_t>(packing.count()));
  EXPECT_EQ(packing.total,
            Ratio(packing.bandwidth.numerator * packing.count(), packing.bandwidth.denominator));
  EXPECT_LE(packing.total, packing.bound);
  const auto* entry = find("ring_set", Collective::all_gather);
  const auto plan = emit("ring_set", {entry->kind, ranks, 0, default_chunks(*entry, ranks, layout)}, layout);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  sim::FlowRoutes routes(network);
  const auto loads = sim::loads_of(*plan, network, routes);
  ASSERT_TRUE(loads.ok()) << loads.status().message();
  // A rank's bus bandwidth is (n - 1)/n M / T.
  EXPECT_LE(loads->time, Ratio((ranks - 1) * packing.total.denominator, ranks * packing.total.numerator));
}

/// GB/s as units of capacity.
Ratio units(int64_t gb_per_s) { return {Int128(gb_per_s) * 1'000'000, 1}; }

/// Best packings of all Hamiltonian cycles, by linear programs; rings as few as here reach them.
TEST(PackRings, ReachesWhatIsPossible) {
  const struct {
    const char* name;
    Network network;
    int64_t gb_per_s;
    int rings;
  } truths[] = {
      {"4xMI250 node", part_of(kMi250Node66, 8, 50), 200, 4},
      {"4xMI250 node, other numbers", part_of(kMi250Node71, 8, 50), 200, 4},
      {"MI250 8-of-16", mi250_boxes(1, 8), 100, 2},
      {"MI250-16", mi250_boxes(1, 16), 300, 6},
      {"RCCL's 16 dies", part_of(kRcclSixteen, 16, 50), 300, 6},
      {"DGX-1V", part_of(kDgx1v, 8, 25), 150, 6},
      {"A100x4 mesh", mesh(4, 100), 300, 6},
      {"MI300X", mesh(8, 48), 336, 7},
      {"six links each", part_of(kSixLinksEach, 8, 24), 144, 6},
      {"H100", star(8, 450), 450, 1},
      {"DGX-2", star(16, 150), 150, 1},
      {"A100 x2", a100_boxes(2), 200, 8},
  };
  for (const auto& truth : truths) {
    SCOPED_TRACE(truth.name);
    const RingPacking packing = packed(truth.network);
    EXPECT_EQ(packing.total, units(truth.gb_per_s));
    EXPECT_EQ(packing.count(), truth.rings);
    expect_sound(truth.network, packing);
  }
}

/// Eight rings of a third of a link each: 8/3, where rings of whole links have 2.
TEST(PackRings, DividesLinksWhereThatPays) {
  const Network network = part_of(kRcclTwistedCube, 8, 3);
  const RingPacking packing = packed(network);
  EXPECT_EQ(packing.total, units(8));
  expect_sound(network, packing);
}

TEST(PackRings, IsNeverBelowWhatPeopleFound) {
  for (const RingTruth& truth : ring_truths()) {
    const RingPacking packing = packed(truth.network());
    EXPECT_GE(packing.total, Ratio(Int128(truth.by_hand.numerator) * 1'000'000, truth.by_hand.denominator))
        << truth.name;
    EXPECT_LE(packing.total, packing.bound) << truth.name;
  }
}

/// A slow way around, which neighbours would not take.
TEST(PackRings, UsesShortestWaysOnly) {
  NetworkBuilder builder;
  builder.ranks(4);
  const int32_t hub = builder.node();
  for (int32_t a = 0; a < 4; ++a) {
    builder.link(a, hub, 10);
    for (int32_t b = a + 1; b < 4; ++b) builder.link(a, b, 100);
  }
  const Network network = builder.take();
  const RingPacking packing = packed(network);
  EXPECT_EQ(packing.total, units(300));
  EXPECT_EQ(packing.bound, units(300));
  EXPECT_EQ(packing.count(), 6);
  expect_sound(network, packing);
}

TEST(PackRings, TakesNoMoreRingsThanAllowed) {
  const auto two = pack_rings(part_of(kDgx1v, 8, 25), {.most_rings = 2});
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->count(), 2);
  EXPECT_EQ(two->total, units(100)) << "one double link each way";
  EXPECT_EQ(*pack_rings(part_of(kDgx1v, 8, 25), {.most_rings = 2}), *two);
}

TEST(PackRings, RefusesWhatHasNoRing) {
  const auto said = [](const Network& network) { return pack_rings(network).status().message(); };
  EXPECT_EQ(said(part_of({{0, 1}, {1, 2}}, 3, 50)), "no ring was found that visits every rank once");
  EXPECT_EQ(said(star(65, 10)), "rings over 65 ranks: expected 2 to 64");
  EXPECT_EQ(said(star(1, 10)), "rings over 1 ranks: expected 2 to 64");
}

}  // namespace
}  // namespace weir::algorithms
