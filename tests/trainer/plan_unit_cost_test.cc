// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/unit_cost.h"

#include <gtest/gtest.h>

#include "plan_machine.h"

namespace weir::trainer::plan {
namespace {

constexpr double kFlopRate = 140e12;
constexpr double kTokens = 3 * 256;

Model small_decoder() { return decoder({"m", 2, 512, 8, 256, 1000, false, true}); }

Job in_slices(int slices, Recompute recompute = Recompute::none) {
  Job job;
  job.micro_batch = 3;
  job.recompute = recompute;
  job.parts.tensor = slices;
  return job;
}

TEST(PlanUnitCost, TheLossReadsLogitsTwiceAndWritesTheirGradients) {
  EXPECT_EQ(loss_elements(1000).forward, 1000);
  EXPECT_EQ(loss_elements(1000).backward, 2000);
  const Model model = small_decoder();
  EXPECT_EQ(model.units.back().moved.forward, 1000);
  EXPECT_EQ(model.units[1].moved.forward, 0);
  EXPECT_EQ(model.units[1].moved.backward, 0);
}

TEST(PlanUnitCost, TheLookUpReadsRowsAndAddsToTheirGradients) {
  // Tokens and positions: two rows read and a sum written; its gradient read, and two rows read and written.
  EXPECT_EQ(lookup_elements(512, 2).forward, 3 * 512);
  EXPECT_EQ(lookup_elements(512, 2).backward, 5 * 512);
  EXPECT_EQ(lookup_elements(512, 1).forward, 2 * 512);
  EXPECT_EQ(lookup_elements(512, 1).backward, 3 * 512);
  EXPECT_EQ(small_decoder().units.front().moved.backward, 5 * 512);
}

TEST(PlanUnitCost, MovedBytesTakeTimeAtTheRateOfMemory) {
  const Model model = small_decoder();
  Cluster cluster = on({1, 1});
  const Unit& embedding = model.units.front();
  const Unit& head = model.units.back();
  EXPECT_EQ(unit_cost(model, cluster, in_slices(1), embedding).total(), 0);  // no rate: no time
  const UnitCost without = unit_cost(model, cluster, in_slices(1), head);
  cluster.memory_rate = 1e9;
  cluster.precision.activation = 4;
  const UnitCost looked_up = unit_cost(model, cluster, in_slices(1), embedding);
  EXPECT_NEAR(looked_up.forward, kTokens * 3 * 512 * 4 / 1e9, 1e-12);
  EXPECT_NEAR(looked_up.backward, kTokens * 5 * 512 * 4 / 1e9, 1e-12);
  // Recomputation repeats products, but not the loss.
  const UnitCost found = unit_cost(model, cluster, in_slices(1, Recompute::full), head);
  const double products = kTokens * 2 * 512 * 1000 / kFlopRate;
  EXPECT_NEAR(found.forward, without.forward + kTokens * 1000 * 4 / 1e9, 1e-12);
  EXPECT_NEAR(found.backward, 3 * products + kTokens * 2000 * 4 / 1e9, 1e-12);
}

TEST(PlanUnitCost, SlicesHavePartsOfBlocksAndAllOfWholeUnits) {
  Model model = small_decoder();
  const Cluster cluster = on({1, 4});
  const double block = unit_cost(model, cluster, in_slices(1), model.units[1]).total();
  EXPECT_NEAR(unit_cost(model, cluster, in_slices(4), model.units[1]).total(), block / 4, 1e-12);
  Unit head = model.units.back();
  const double whole = unit_cost(model, cluster, in_slices(1), head).total();
  EXPECT_NEAR(unit_cost(model, cluster, in_slices(4), head).total(), whole / 4, 1e-12);
  head.whole = true;
  EXPECT_NEAR(unit_cost(model, cluster, in_slices(4), head).total(), whole, 1e-12);
}

TEST(PlanUnitCost, SlicesAreSlowerAsTheirWidthIs) {
  const Model model = small_decoder();
  Cluster cluster = on({1, 8});
  cluster.half_width = 256;
  double last = 0;
  for (const int slices : {1, 2, 4, 8}) {
    const double seconds = unit_cost(model, cluster, in_slices(slices), model.units[1]).total();
    const double width = 512.0 / slices;
    EXPECT_NEAR(
        seconds,
        kTokens * 3 * forward_flops(model, model.units[1]) / slices / kFlopRate * (width + 256) / width,
        1e-12);
    EXPECT_GT(seconds * slices, last);  // more processor time for the same block
    last = seconds * slices;
  }
}

TEST(PlanUnitCost, HalfWidthIsTheLineThroughBothTimes) {
  for (const int slices : {2, 4})
    for (const double half : {0.0, 30.0, 128.0, 400.0}) {
      const auto seconds = [&](double width) { return 7e-6 * (width + half); };
      EXPECT_NEAR(half_width_of({seconds(128), seconds(128.0 / slices), slices}, 128), half, 1e-9)
          << slices << ' ' << half;
    }
}

/// Noise can make slices cheaper than their part of the whole, or as expensive as all of it.
TEST(PlanUnitCost, HalfWidthIsLimited) {
  EXPECT_EQ(half_width_of({1, 0.4, 2}, 128), 0);
  EXPECT_EQ(half_width_of({1, 0.99, 2}, 128), 9 * 128);
  EXPECT_EQ(half_width_of({1, 1, 2}, 128), 9 * 128);
  EXPECT_EQ(half_width_of({1, 1.5, 2}, 128), 9 * 128);
}

}  // namespace
}  // namespace weir::trainer::plan
