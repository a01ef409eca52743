// SPDX-License-Identifier: Apache-2.0
// Plans made for the network between the places of a layout.
#include "algorithms/catalogue/planned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "algorithms/bound/bound.h"
#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/relabel.h"
#include "algorithms/ir/verify.h"
#include "algorithms/sim/plan_loads.h"
#include "algorithms/sim/simulate.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

/// Ranks around one switch, with so many units of capacity both ways.
Network star_of(const std::vector<int64_t>& units) {
  Network network;
  network.nodes = static_cast<int32_t>(units.size()) + 1;
  for (int32_t rank = 0; rank + 1 < network.nodes; ++rank) {
    network.rank_nodes.push_back(rank + 1);
    network.edges.push_back({rank + 1, 0, units[static_cast<size_t>(rank)]});
    network.edges.push_back({0, rank + 1, units[static_cast<size_t>(rank)]});
  }
  return network;
}

/// A link of 1, 2 or 3 units between every two ranks.
inline Network unlike_mesh(int ranks) {
  Network network;
  network.nodes = ranks;
  for (int32_t a = 0; a < ranks; ++a) {
    network.rank_nodes.push_back(a);
    for (int32_t b = 0; b < ranks; ++b)
      if (a != b) network.edges.push_back({a, b, 1 + (a + b) % 3});
  }
  return network;
}

/// Hosts on one switch, the last one at half the rate, each with so many ranks.
inline Network hosts_of_ranks(const std::vector<int>& ranks_on, int64_t memory) {
  Network network;
  network.nodes = 1;
  const auto join_both = [&](int32_t a, int32_t b, int64_t capacity) {
    network.edges.push_back({a, b, capacity});
    network.edges.push_back({b, a, capacity});
  };
  for (size_t host = 0; host < ranks_on.size(); ++host) {
    const int32_t node = network.nodes++;
    join_both(node, 0, host + 1 == ranks_on.size() ? 1 : 2);
    for (int i = 0; i < ranks_on[host]; ++i) {
      network.rank_nodes.push_back(network.nodes);
      join_both(network.nodes++, node, memory);
    }
  }
  return network;
}

Layout layout_on(const Network& network, std::vector<Rank> order = {}) {
  Layout layout;
  layout.order = std::move(order);
  if (layout.order.empty()) {
    layout.order.resize(network.rank_nodes.size());
    std::iota(layout.order.begin(), layout.order.end(), 0);
  }
  std::vector<char> between(static_cast<size_t>(network.nodes));
  between[0] = 1;
  join(layout, network, between);
  return layout;
}

ir::Plan plan_of(std::string_view algorithm, Collective kind, const Layout& layout, uint32_t times = 1) {
  const auto ranks = static_cast<int>(layout.order.size());
  const uint32_t chunks = times * default_chunks(*find(algorithm, kind), ranks, layout);
  auto plan = emit(algorithm, {kind, ranks, 0, chunks}, layout);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(ir::verify(*plan).message(), "");
  return *plan;
}

/// T / M of the most loaded edge.
Ratio time_of(const ir::Plan& plan, const Network& network) {
  sim::FlowRoutes routes(network);
  const auto loads = sim::loads_of(plan, network, routes);
  EXPECT_TRUE(loads.ok()) << loads.status().message();
  return loads->time;
}

/// A ring takes 2 (n - 1) / n of an all-reduce over the slow cable each way; nothing can take less than all
/// of it once.
TEST(Planned, SendsTheDataOfASlowHostOnce) {
  for (const int ranks : {4, 5, 8, 16}) {
    for (const int64_t fast : {2, 4}) {
      std::vector<int64_t> units(static_cast<size_t>(ranks), fast);
      units[2] = 1;
      const Layout layout = layout_on(star_of(units));
      const Ratio planned = time_of(plan_of("planned", Collective::all_reduce, layout), *layout.network);
      const Ratio ring = time_of(plan_of("ring", Collective::all_reduce, layout), *layout.network);
      EXPECT_EQ(planned, Ratio(1, 1)) << ranks;
      EXPECT_EQ(ring, Ratio(2 * (ranks - 1), ranks)) << ranks;
    }
  }
}

TEST(Planned, IsNotMadeWhereRingsAreTheBest) {
  const Layout alike = layout_on(star_of({3, 3, 3, 3, 3}));
  for (const auto kind : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather})
    EXPECT_EQ(planned_for(kind, 5, alike), nullptr) << name(kind);
  // Each host must take in all blocks but its own, whoever is slow.
  const Layout unlike = layout_on(star_of({3, 3, 1, 3, 3}));
  EXPECT_NE(planned_for(Collective::all_reduce, 5, unlike), nullptr);
  for (const auto kind : {Collective::reduce_scatter, Collective::all_gather})
    EXPECT_EQ(planned_for(kind, 5, unlike), nullptr) << name(kind);
}

/// On a mesh a ring uses one link per rank of all.
TEST(Planned, UsesAllLinksOfAMesh) {
  const Layout layout = layout_on(unlike_mesh(6));
  for (const auto kind : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    const Ratio planned = time_of(plan_of("planned", kind, layout), *layout.network);
    EXPECT_EQ(planned, lower_bound(*layout.network, kind)->time) << name(kind);
    EXPECT_LT(planned, time_of(plan_of("ring", kind, layout), *layout.network)) << name(kind);
  }
}

TEST(Planned, NetworksOfManyEdgesTakeTooLong) {
  const auto edges_of = [](const Layout& layout) { return layout.network->edges.size(); };
  const Layout planned = layout_on(unlike_mesh(13));
  EXPECT_LE(edges_of(planned), kMostPlannedEdges);
  EXPECT_NE(planned_for(Collective::all_gather, 13, planned), nullptr);
  const Layout refused = layout_on(unlike_mesh(24));
  EXPECT_GT(edges_of(refused), kMostPlannedEdges);
  EXPECT_EQ(planned_for(Collective::all_gather, 24, refused), nullptr);
}

/// Two lanes are too few for the trees, which would put less load on the links.
TEST(Planned, IsNotKeptWhereRingsAreFasterInTheSimulation) {
  const Network network = unlike_mesh(6);
  Layout layout = layout_on(network);
  for (const int lanes : {2, 64}) {
    join(layout, network, std::vector<char>(6), lanes);
    const ir::Plan* plan = planned_for(Collective::all_gather, 6, layout);
    if (plan == nullptr) continue;
    const auto time = [&](const ir::Plan& each) {
      return sim::simulate(each, 64 << 20, *layout.network, {.slot_bytes = 256 << 10, .slots = 4})->seconds;
    };
    EXPECT_LT(time(*plan), time(plan_of("ring", Collective::all_gather, layout))) << lanes;
  }
  ASSERT_NE(planned_for(Collective::all_gather, 6, layout), nullptr);
}

TEST(Planned, IsOverPlacesAndRunsOverRanks) {
  const Network by_rank = star_of({4, 1, 4, 4, 2});
  const std::vector<Rank> order = {3, 0, 4, 1, 2};
  const Layout layout = layout_on(by_rank, order);
  for (size_t place = 0; place < order.size(); ++place)
    EXPECT_EQ(layout.network->rank_nodes[place], by_rank.rank_nodes[static_cast<size_t>(order[place])]);
  ir::Plan plan = plan_of("planned", Collective::all_reduce, layout);
  const auto relabelled = ir::relabelled(std::move(plan), order);
  ASSERT_TRUE(relabelled.ok()) << relabelled.status().message();
  EXPECT_EQ(time_of(*relabelled, by_rank), Ratio(1, 1));
}

TEST(Planned, RunsAsPrograms) {
  for (const Network& network : {star_of({2, 2, 1, 2}), star_of({8, 1, 1, 3, 2, 5}), unlike_mesh(5),
                                 hosts_of_ranks({2, 3, 1, 2}, 10)}) {
    const Layout layout = layout_on(network);
    for (const auto kind : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
      if (planned_for(kind, network.ranks(), layout) == nullptr) continue;
      for (const uint32_t times : {1u, 3u}) {
        const ir::Plan plan = plan_of("planned", kind, layout, times);
        std::vector<exec::Program> programs;
        for (Rank rank = 0; rank < network.ranks(); ++rank) programs.push_back(*exec::lower(plan, rank));
        for (const auto placement : {ir::Placement::apart, ir::Placement::in_place}) {
          EXPECT_EQ(exec::check(programs, {.slots = 2, .passes = 3, .placement = placement}).message(), "")
              << name(kind) << " over " << network.ranks();
        }
      }
    }
  }
}

TEST(Planned, UsesNoMoreLanesThanThereAre) {
  const Network network = unlike_mesh(6);
  Layout layout = layout_on(network);
  join(layout, network, std::vector<char>(6), 8);
  ASSERT_NE(planned_for(Collective::all_reduce, 6, layout), nullptr);
  const ir::Plan plan = plan_of("planned", Collective::all_reduce, layout);
  for (const ir::Move& move : plan.moves) {
    EXPECT_LT(move.src_lane, 8);
    EXPECT_LT(move.dst_lane, 8);
  }
  join(layout, network, std::vector<char>(6), 1);
  EXPECT_EQ(planned_for(Collective::all_reduce, 6, layout), nullptr) << "sums and results need two";
}

TEST(Planned, IsMadeOnceForAllCopies) {
  const Layout layout = layout_on(star_of({2, 1, 2}));
  const Layout copy = layout;
  const ir::Plan* plan = planned_for(Collective::all_reduce, 3, layout);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(planned_for(Collective::all_reduce, 3, copy), plan);
  EXPECT_EQ(planned_for(Collective::all_reduce, 2, layout), nullptr);
}

/// All bytes of an all-reduce cross the cable of the slow host once, however many ranks the hosts have.
TEST(Planned, CrossesTheCableOfASlowHostOnceForAllItsRanks) {
  for (const auto& ranks_on : {std::vector{2, 2, 2, 2}, std::vector{2, 4, 4, 4}, std::vector{4, 4, 4, 1}}) {
    const Network network = hosts_of_ranks(ranks_on, 10);
    const Layout layout = layout_on(network);
    const ir::Plan plan = plan_of("planned", Collective::all_reduce, layout);
    EXPECT_EQ(time_of(plan, network), Ratio(1, 1));
    const int ranks = network.ranks();
    EXPECT_EQ(time_of(plan_of("ring", Collective::all_reduce, layout), network),
              Ratio(2 * (ranks - 1), ranks));
  }
}

TEST(Planned, SaysWhatItNeeds) {
  const auto said = [](Collective kind, int ranks, const Layout& layout) {
    auto plan = emit("planned", {kind, ranks, 0, 1}, layout);
    return plan.ok() ? "fine" : plan.status().message();
  };
  const std::string_view needs =
      "no plan was computed for 4 ranks: expected 2 to 32 ranks on a network whose bandwidths are known";
  EXPECT_THAT(said(Collective::all_reduce, 4, {}), HasSubstr(needs));
  EXPECT_THAT(said(Collective::all_reduce, 4, layout_on(star_of({2, 1, 2}))), HasSubstr(needs));
  EXPECT_THAT(said(Collective::all_gather, 33, layout_on(star_of(std::vector<int64_t>(33, 1)))),
              HasSubstr("no plan was computed for 33 ranks"));
  EXPECT_THAT(said(Collective::broadcast, 4, {}), HasSubstr("does not support broadcast"));
  EXPECT_EQ(said(Collective::all_reduce, 1, {}), "fine");
  EXPECT_THAT(said(Collective::all_gather, 24, layout_on(unlike_mesh(24))),
              HasSubstr("no plan was computed"));
  Network apart = star_of({1, 1, 1});
  apart.edges.resize(4);  // rank 2 has no cable
  EXPECT_THAT(said(Collective::all_reduce, 3, layout_on(apart)), HasSubstr("no plan was computed"));
}

}  // namespace
}  // namespace weir::algorithms
