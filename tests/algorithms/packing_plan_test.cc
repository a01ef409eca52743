// SPDX-License-Identifier: Apache-2.0
/// Plans made of packings: verified, run as programs, and balanced as the packing promises.
#include "algorithms/packing/plans.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "algorithms/ir/verify.h"
#include "algorithms/packing/pack.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

Result<ir::Plan> tree_plan(Collective collective, const Packing& packing) {
  return plan_with(collective, reduces(collective) ? Halves{&packing, nullptr} : Halves{nullptr, &packing});
}

struct Machine {
  std::string name;
  Network network;
  Rational bound;
};

std::vector<Machine> machines() {
  std::vector<Machine> all;
  for (const AllGatherTruth& truth : all_gather_truths()) {
    if (truth.ranks > 16) continue;
    all.push_back(
        {truth.name, truth.network(), Rational(truth.each.numerator * 1'000'000, truth.each.denominator)});
  }
  return all;
}

Packing packing_of(const Network& network, const std::vector<int64_t>& weights, const Rational& bound) {
  auto packed = pack(network, weights, bound);
  EXPECT_TRUE(packed.ok()) << packed.status().message();
  return packed.ok() ? packed->packing : Packing{};
}

Packing equal_roots(const Network& network, const Rational& bound) {
  return packing_of(network, std::vector<int64_t>(network.rank_nodes.size(), 1), bound);
}

/// Verified; and as programs with two slots per channel neither stuck nor racing.
void expect_runs(const Result<ir::Plan>& plan, const std::string& words) {
  ASSERT_TRUE(plan.ok()) << words << ": " << plan.status().message();
  ASSERT_EQ(ir::verify(*plan).message(), "") << words;
  std::vector<exec::Program> programs;
  for (Rank rank = 0; rank < plan->shape.ranks; ++rank) {
    auto program = exec::lower(*plan, rank);
    ASSERT_TRUE(program.ok()) << words << ": " << program.status().message();
    programs.push_back(std::move(*program));
  }
  for (auto placement : {ir::Placement::apart, ir::Placement::in_place}) {
    EXPECT_EQ(exec::check(programs, {.slots = 2, .passes = 3, .placement = placement}).message(), "")
        << words;
  }
}

TEST(PackingPlan, AllGatherAndReduceScatter) {
  for (const Machine& machine : machines()) {
    expect_runs(tree_plan(Collective::all_gather, equal_roots(machine.network, machine.bound)), machine.name);
    expect_runs(tree_plan(Collective::reduce_scatter, equal_roots(reversed(machine.network), machine.bound)),
                machine.name);
  }
}

TEST(PackingPlan, AllReduce) {
  for (const Machine& machine : machines()) {
    const Packing up = equal_roots(reversed(machine.network), machine.bound);
    const Packing down = equal_roots(machine.network, machine.bound);
    expect_runs(plan_with(Collective::all_reduce, {&up, &down}), machine.name);
  }
}

TEST(PackingPlan, RunsInEveryOrder) {
  const Network network = part_of(kMi250Node66, 8, 50);
  const Packing up = equal_roots(reversed(network), Rational(125'000'000, 3));
  const Packing down = equal_roots(network, Rational(125'000'000, 3));
  for (const auto& [collective, halves] : {std::pair{Collective::all_gather, Halves{nullptr, &down}},
                                           {Collective::reduce_scatter, Halves{&up, nullptr}},
                                           {Collective::all_reduce, Halves{&up, &down}}}) {
    int possible = 0;
    std::vector<MoveOrder> orders = move_orders(halves);
    const std::vector<MoveOrder> of_few_lanes = move_orders(halves, 12);
    EXPECT_TRUE(std::ranges::any_of(of_few_lanes, &MoveOrder::by_depth)) << "trees share lanes";
    orders.insert(orders.end(), of_few_lanes.begin(), of_few_lanes.end());
    for (const MoveOrder& order : orders) {
      const auto plan = plan_with(collective, halves, order);
      EXPECT_TRUE(plan.ok() || order.by_level) << plan.status().message();
      if (!plan.ok()) continue;
      ++possible;
      expect_runs(plan, fmt::format("{} by {}{}, {} groups of {}", name(collective),
                                    order.by_level ? "level" : "tree", order.by_depth ? ", by depth" : "",
                                    order.groups, order.phases));
    }
    EXPECT_GT(possible, 3);
  }
}

TEST(PackingPlan, TreesWithTheSameHopsAreOne) {
  Packing packing{{2, 2}, 1, {}};
  for (const Rank root : {0, 1}) {
    for (const int32_t route : {0, 1}) packing.trees.push_back({root, 1, {{root, 1 - root, {route}}}});
  }
  const auto plan = tree_plan(Collective::all_gather, packing);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->shape.chunks, 1u);
  EXPECT_EQ(plan->moves.size(), 4u);  // of each rank one to the other and one to itself
}

TEST(PackingPlan, AllReduceWithUnevenRoots) {
  const Network network = mesh(4, 100);
  const std::vector<int64_t> weights = {2, 0, 1, 1};
  const Packing up = packing_of(reversed(network), weights, 50'000'000);
  const Packing down = packing_of(network, weights, 50'000'000);
  const auto plan = plan_with(Collective::all_reduce, {&up, &down});
  expect_runs(plan, "mesh");
  EXPECT_EQ(plan->shape.chunks % 4, 0u);
}

TEST(PackingPlan, BroadcastAndReduce) {
  const Network network = part_of(kDgx1v, 8, 25);
  const Network turned = reversed(network);
  for (Rank root : {0, 3, 7}) {
    std::vector<int64_t> weights(8);
    weights[static_cast<size_t>(root)] = 1;
    const auto broadcast = tree_plan(Collective::broadcast, packing_of(network, weights, 150'000'000));
    expect_runs(broadcast, "broadcast");
    EXPECT_EQ(broadcast->shape.root, root);
    EXPECT_EQ(broadcast->shape.chunks, 6u);
    expect_runs(tree_plan(Collective::reduce, packing_of(turned, weights, 150'000'000)), "reduce");
  }
}

/// Chunks over each link are the trees over it.
TEST(PackingPlan, MovesWhatThePackingSays) {
  const Network network = part_of(kMi250Node66, 8, 50);
  const Packing packing = equal_roots(network, Rational(125'000'000, 3));
  const auto plan = tree_plan(Collective::all_gather, packing);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->shape.chunks, 5u);
  std::map<std::pair<Rank, Rank>, int64_t> moved;
  for (const ir::Move& move : plan->moves) {
    if (move.src != move.dst) moved[{move.src, move.dst}] += move.chunks;
  }
  for (const Edge& edge : network.edges) {
    const Rational load = moved[{edge.from, edge.to}] * packing.bandwidth;
    EXPECT_LE(load, edge.capacity) << edge.from << " to " << edge.to;
  }
}

TEST(PackingPlan, SaysWhatDoesNotSuit) {
  const Network network = mesh(3, 100);
  const Packing uneven = packing_of(network, {2, 1, 1}, 60'000'000);
  EXPECT_EQ(tree_plan(Collective::all_gather, uneven).status().message().substr(0, 34),
            "all_gather: rank 1 is the root of ");
  EXPECT_EQ(tree_plan(Collective::broadcast, uneven).status().message(),
            "broadcast: trees of 3 roots: expected one root");
  const Packing even = equal_roots(network, 100'000'000);
  EXPECT_EQ(plan_with(Collective::all_reduce, {&uneven, &even}).status().message(),
            "all_reduce: the roots of the packings that sum and that spread differ: expected equal numbers "
            "of trees per root");
  EXPECT_EQ(tree_plan(Collective::all_gather, {}).status().message(),
            "a packing over 0 ranks: expected at least 2");
}

}  // namespace
}  // namespace weir::algorithms
