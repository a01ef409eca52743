// SPDX-License-Identifier: Apache-2.0
/// The schedules of planned trees, and the ranking of all plans: what is predicted is the simulated time of
/// the moves that are emitted.
#include "algorithms/best_plan/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/best_plan/catalogue_plan.h"
#include "algorithms/ir/relabel.h"
#include "algorithms/ir/verify.h"
#include "algorithms/network/link_latencies.h"
#include "algorithms/sim/simulate.h"
#include "tests/algorithms/line.h"
#include "tests/base/sanitized.h"

namespace weir::algorithms {
namespace {

constexpr double kBytes = 256 << 20;
constexpr sim::Channels kChannels{.slot_bytes = 256 << 10, .slots = 4};

PlanRequest request_of(const Line& line, Collective collective) {
  return {line.graph, line.network, line.between_hosts, collective, 0, kBytes};
}

constexpr Collective kThree[] = {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce};

class Clusters : public ::testing::TestWithParam<const char*> {};

TEST_P(Clusters, ThePlanThatIsEmittedKeepsThePrediction) {
  const Line cluster(GetParam());
  for (const Collective collective : kThree) {
    SCOPED_TRACE(name(collective));
    const PlanRequest request = request_of(cluster, collective);
    auto best = best_plan(request);
    ASSERT_TRUE(best.ok()) << best.status().message();
    const auto ranked = ranked_plans(request, *best, kChannels);
    ASSERT_TRUE(ranked.ok()) << ranked.status().message();
    const Schedule& first = ranked->front().schedule;
    EXPECT_EQ(ir::verify(first.plan).message(), "");

    const auto run = sim::simulate(first.plan, kBytes, cluster.network, kChannels);
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_DOUBLE_EQ(run->seconds, first.prediction.seconds);
    const auto smaller =
        sim::simulate(first.plan, kBytes, cluster.network, {.slot_bytes = 64 << 10, .slots = 8});
    EXPECT_GE(smaller->algbw, 0.98 * first.prediction.algbw);

    const double bound = kCapacityUnit / best->bound.time.value();
    EXPECT_LE(first.prediction.algbw, bound * (1 + 1e-9));
    EXPECT_GE(first.prediction.algbw, 0.96 * bound) << ranked->front().name;
    for (const char* algorithm : {"ring", "hierarchical", "ring_set"}) {
      const auto other = plan_by(algorithm, request);
      if (!other.ok()) continue;
      const auto time = sim::simulate(*other, kBytes, cluster.network, kChannels);
      EXPECT_LE(first.prediction.seconds, time->seconds * 1.0006) << algorithm;
    }
  }
}

/// The last ones take long where a sanitizer watches.
std::vector<const char*> lines() {
  std::vector<const char*> all = {"16 x (1 gpu, 1 nic 25) leaf", "20 x (1 gpu, 1 nic 25) leaf",
                                  "(8 gpu nvswitch 300)", "2 x (4 gpu mesh 100, 4 nic 25) leaf"};
  if (!testing::kSanitized) {
    all.push_back("4 x (8 gpu nvswitch 300, 8 nic 25) leaf by 2 4:1 spine 2");
    all.push_back("8 x (4 gpu nvswitch 300, 2 nic 25) leaf");
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Lines, Clusters, ::testing::ValuesIn(lines()));

/// Trees by themselves, without help of the catalogue.
TEST(Schedule, TreesReachWhatTheirLinksAllow) {
  for (const char* line : {"16 x (1 gpu, 1 nic 25) leaf", "4 x (8 gpu nvswitch 450, 8 nic 50) leaf",
                           "4 x (8 gpu nvswitch 300, 8 nic 25) leaf by 2 4:1 spine 2"}) {
    const Line cluster(line);
    for (const Collective collective : kThree) {
      const auto plan = plan_collective(cluster.network, cluster.between_hosts, collective);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      const auto moves = schedule(*plan, cluster.network, 4 * kBytes, kChannels);
      ASSERT_TRUE(moves.ok()) << moves.status().message();
      EXPECT_EQ(ir::verify(moves->plan).message(), "");
      const double limit = kCapacityUnit / plan->time.convert_to<double>();
      EXPECT_GE(moves->prediction.algbw, 0.98 * limit) << line << ", " << name(collective);
    }
  }
}

/// Lanes are too few for all trees, and latencies add up along rings over hosts.
TEST(Schedule, WhatIsPassedOnWaitsForNothingElse) {
  Line cluster("9 x (8 gpu nvswitch 450, 8 nic 50) leaf");
  set_latencies(cluster.network, cluster.graph, {});
  sim::Channels channels = kChannels;
  channels.alpha = topology::Latencies{}.message * 1e-6;
  const auto plan = plan_collective(cluster.network, cluster.between_hosts, Collective::all_gather);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto moves = schedule(*plan, cluster.network, 4 * kBytes, channels);
  ASSERT_TRUE(moves.ok()) << moves.status().message();
  EXPECT_GE(moves->prediction.algbw, 0.98 * kCapacityUnit / plan->time.convert_to<double>());
}

/// Trees that run ahead of others leave them links for themselves in the end, which says nothing of the rest.
TEST(Schedule, PassesThatAreNotSimulatedTakeAsLong) {
  const Line dies("(16 gpu mi250 50)");
  const auto plan = plan_collective(dies.network, dies.between_hosts, Collective::all_gather);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto trees = planned_trees(*plan, dies.network);
  ASSERT_TRUE(trees.ok()) << trees.status().message();
  const auto moves = plan_with(Collective::all_gather, trees->halves(), {.by_level = true, .groups = 27});
  ASSERT_TRUE(moves.ok()) << moves.status().message();
  constexpr sim::Channels kSmall{.slot_bytes = 64 << 10, .slots = 8};
  sim::FlowRoutes routes(dies.network);
  const sim::Tiling tiling = sim::tile(*moves, 2 * kBytes, kSmall);
  auto made = sim::plan_flows(*moves, tiling, tiling.passes, dies.network, routes, kSmall);
  ASSERT_TRUE(made.ok());
  const auto all = made->flows.simulate();
  const auto some = sim::simulate(*moves, 2 * kBytes, dies.network, routes, kSmall, sim::kFewFlows);
  ASSERT_TRUE(all.ok() && some.ok());
  EXPECT_TRUE(some->extrapolated());
  EXPECT_NEAR(some->seconds / all->seconds, 1, 0.05);
}

TEST(Schedule, TreesOfSeveralChunksAreDivided) {
  const Line dies("(16 gpu mi250 50)");
  const auto plan = plan_collective(dies.network, dies.between_hosts, Collective::all_gather);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto moves = schedule(*plan, dies.network, 4 * kBytes, kChannels);
  ASSERT_TRUE(moves.ok()) << moves.status().message();
  EXPECT_GE(moves->prediction.algbw, 0.96 * kCapacityUnit / plan->time.convert_to<double>());
}

/// The trees of two such hosts need more lanes than there are.
TEST(Schedule, FewerTreesAreTakenWhereLanesAreTooFew) {
  const Line cluster("2 x (16 gpu mi250 50, 8 nic 25) leaf");
  auto plan = plan_collective(cluster.network, cluster.between_hosts, Collective::all_reduce);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Rational least = plan->time;
  constexpr int64_t kFewFlows = 200'000;
  const auto all = schedule(*plan, cluster.network, kBytes, kChannels, kFewFlows);
  ASSERT_TRUE(all.ok()) << all.status().message();
  const auto fewer = schedule_fewer(*plan, cluster.network, kBytes, kChannels, kFewFlows);
  ASSERT_TRUE(fewer.ok()) << fewer.status().message();
  EXPECT_LT(fewer->prediction.seconds, 0.8 * all->prediction.seconds);
  EXPECT_EQ(ir::verify(fewer->plan).message(), "");
  EXPECT_GT(plan->time, least) << "its links would allow more";
  ASSERT_TRUE(plan->trees && plan->trees->down);
  EXPECT_LE(plan->trees->down->trees_per_root, 2);
  EXPECT_LE(kCapacityUnit / plan->time.convert_to<double>() * 0.94, fewer->prediction.algbw);
}

struct PlanWithLatencies {
  explicit PlanWithLatencies(const std::string& line, Collective collective) : cluster(line) {
    set_latencies(cluster.network, cluster.graph, {});
    channels.alpha = topology::Latencies{}.message * 1e-6;
    auto made = plan_collective(cluster.network, cluster.between_hosts, collective);
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) plan = std::move(*made);
  }
  Line cluster;
  sim::Channels channels = kChannels;
  CollectivePlan plan;
};

TEST(Schedule, OrdersWithTheSameMovesAreSimulatedOnce) {
  constexpr int kLanes = 4;  // too few for each tree to have its own
  const PlanWithLatencies all("(8 gpu nvswitch 300)", Collective::all_gather);
  const Network& network = all.cluster.network;
  const auto found = schedule(all.plan, network, kBytes, all.channels, kMostOrderFlows, kLanes);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const auto trees = planned_trees(all.plan, network);
  ASSERT_TRUE(trees.ok()) << trees.status().message();
  int orders = 0;
  std::vector<ir::Plan> different;
  double least = std::numeric_limits<double>::infinity();
  for (const MoveOrder& order : move_orders(trees->halves(), kLanes)) {
    const auto moves = plan_with(Collective::all_gather, trees->halves(), order);
    if (!moves.ok()) continue;
    ++orders;
    ir::Plan form = ir::with_lanes_in_order_of_use(*moves);
    if (std::ranges::find(different, form) == different.end()) different.push_back(std::move(form));
    sim::FlowRoutes routes(network);
    const auto run = sim::simulate(*moves, kBytes, network, routes, all.channels, sim::kFewFlows);
    ASSERT_TRUE(run.ok()) << run.status().message();
    least = std::min(least, run->seconds);
  }
  EXPECT_EQ(found->prediction.seconds, least);
  EXPECT_EQ(found->orders, static_cast<int>(different.size()));
  EXPECT_LT(found->orders, orders);
}

/// Where latencies keep flows apart, the first pass takes less time with them than without. The search must
/// not take that for time that better orders could save.
TEST(Schedule, TheSearchEndsWithAnOrderThatIsGoodEnough) {
  const PlanWithLatencies all("20 x (4 gpu nvswitch 300, 4 nic 25) leaf", Collective::all_reduce);
  const auto found = schedule(all.plan, all.cluster.network, 4 * kBytes, all.channels);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_GE(found->prediction.algbw, 0.99 * kCapacityUnit / all.plan.time.convert_to<double>());
  EXPECT_EQ(found->orders, 1);
}

/// Blocks of a host that visit the same hosts share its gates, each with few of them.
TEST(Schedule, BlocksUseFewGates) {
  const Line cluster("20 x (8 gpu nvswitch 300, 8 nic 25) leaf");
  const auto plan = plan_collective(cluster.network, cluster.between_hosts, Collective::all_gather);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto trees = planned_trees(*plan, cluster.network);
  ASSERT_TRUE(trees.ok()) << trees.status().message();
  EXPECT_EQ(trees->down->trees.size(), 160u);
}

}  // namespace
}  // namespace weir::algorithms
