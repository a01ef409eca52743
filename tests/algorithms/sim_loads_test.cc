// SPDX-License-Identifier: Apache-2.0
// What plans put on edges, in exact fractions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/bound/bound.h"
#include "algorithms/catalogue/catalogue.h"
#include "algorithms/sim/plan_loads.h"
#include "algorithms/sim/simulate.h"
#include "tests/algorithms/ground_truth.h"
#include "tests/algorithms/some_layout.h"

namespace weir::sim {
namespace {

using algorithms::plan_of;
using algorithms::Ratio;

PlanLoads loads(std::string_view algorithm, Collective kind, const Network& network) {
  FlowRoutes routes(network);
  auto found = loads_of(plan_of(algorithm, kind, network.ranks()), network, routes);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return *found;
}

/// Bound / plan.
Ratio part_of_bound(const Network& network, Collective kind, const PlanLoads& found) {
  const auto bound = algorithms::lower_bound(network, kind);
  EXPECT_TRUE(bound.ok());
  return {bound->time.numerator * found.time.denominator, bound->time.denominator * found.time.numerator};
}

TEST(PlanLoads, ARingOnASwitchIsOptimal) {
  const Network network = algorithms::star(8, 300);
  for (const auto kind : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce})
    EXPECT_EQ(part_of_bound(network, kind, loads("ring", kind, network)), Ratio(1, 1)) << name(kind);
}

TEST(PlanLoads, ARingOnAMeshUsesOneLinkOfMany) {
  const Network network = algorithms::mesh(4, 100);
  EXPECT_EQ(part_of_bound(network, Collective::all_gather, loads("ring", Collective::all_gather, network)),
            Ratio(1, 3));
  EXPECT_EQ(
      part_of_bound(network, Collective::all_gather, loads("one_shot", Collective::all_gather, network)),
      Ratio(1, 1));
}

TEST(PlanLoads, AreThoseOfTheSimulation) {
  const Network network = algorithms::a100_boxes(2);
  for (const auto* algorithm : {"ring", "double_tree", "halving_doubling"}) {
    const ir::Plan plan = plan_of(algorithm, Collective::all_reduce, 16);
    FlowRoutes routes(network);
    const auto exact = loads_of(plan, network, routes);
    const auto run = simulate(plan, 1e9, network, {});
    ASSERT_TRUE(exact.ok() && run.ok());
    for (size_t edge = 0; edge < network.edges.size(); ++edge) {
      EXPECT_NEAR(static_cast<double>(exact->chunks[edge]) / static_cast<double>(exact->whole) * 1e9,
                  run->edge_bytes[edge], 1)
          << algorithm << " edge " << edge;
    }
    EXPECT_LE(exact->time.value() / algorithms::kCapacityUnit, run->seconds * (1 + 1e-9));
  }
}

TEST(PlanLoads, OtherRanksAreRefused) {
  const Network network = algorithms::star(3, 10);
  const auto plan = algorithms::emit("ring", {Collective::all_gather, 4, 0, 1});
  FlowRoutes routes(network);
  EXPECT_EQ(loads_of(*plan, network, routes).status().message(),
            "a plan for 4 ranks on a network of 3: expected equal numbers");
}

}  // namespace
}  // namespace weir::sim
