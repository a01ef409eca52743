// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/flow_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "algorithms/sim/ways.h"
#include "tests/algorithms/sim_networks.h"

namespace weir::sim {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> route(FlowRoutes& routes, Rank src, Rank dst, uint32_t channel = 0) {
  auto found = routes.route(src, dst, channel);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? std::vector<int32_t>(found->begin(), found->end()) : std::vector<int32_t>{};
}

TEST(FlowRoutes, ThroughTheSwitch) {
  const Network network = star(4, 10);
  FlowRoutes routes(network);
  EXPECT_THAT(route(routes, 0, 3), ElementsAre(0, 7));
  EXPECT_THAT(route(routes, 3, 0), ElementsAre(6, 1));
}

TEST(FlowRoutes, ThroughRanksOnlyWhereNothingElseLeads) {
  Network network = row({10, 10, 10});
  {
    FlowRoutes routes(network);
    EXPECT_THAT(route(routes, 0, 3), ElementsAre(0, 2, 4));
  }
  // A way around over four switches is longer, and taken.
  int32_t last = 0;
  for (int i = 0; i < 4; ++i) {
    const int32_t next = node(network);
    cable(network, last, next, 1);
    last = next;
  }
  cable(network, last, 3, 1);
  FlowRoutes routes(network);
  EXPECT_THAT(route(routes, 0, 3), ElementsAre(6, 8, 10, 12, 14));
}

TEST(FlowRoutes, InsideAHostThroughRanksRatherThanOverCables) {
  using topology::LinkKind;
  Network network = row({10, 10});  // three ranks of a host; the ends are on a switch as well
  const int32_t leaf = node(network);
  cable(network, 0, leaf, 10);
  cable(network, leaf, 2, 10);
  {
    FlowRoutes routes(network);
    EXPECT_THAT(route(routes, 0, 2), ElementsAre(4, 6)) << "the network does not tell what is a host";
  }
  network.link_kinds = {LinkKind::xgmi,  LinkKind::xgmi,  LinkKind::xgmi,  LinkKind::xgmi,
                        LinkKind::cable, LinkKind::cable, LinkKind::cable, LinkKind::cable};
  FlowRoutes routes(network);
  EXPECT_THAT(route(routes, 0, 2), ElementsAre(0, 2));
  EXPECT_EQ(routes.way_of(route(routes, 0, 2)), ir::MoveWay::xgmi);
  const auto out = routes.route(0, 2, 0, ir::MoveWay::net);
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_THAT(std::vector<int32_t>(out->begin(), out->end()), ElementsAre(4, 6)) << "as the move says";
}

TEST(FlowRoutes, PlansThatPassOtherRanksBetweenHostsAreKnown) {
  using topology::LinkKind;
  // Two hosts of two ranks; rank 0 and rank 2 are on a leaf, and so are 1 and 3.
  Network network;
  for (int i = 0; i < 4; ++i) rank_node(network);
  const int32_t leaves[] = {node(network), node(network)};
  cable(network, 0, 1, 10), cable(network, 2, 3, 10);
  for (int rank = 0; rank < 4; ++rank) cable(network, rank, leaves[rank % 2], 10);
  network.link_kinds.assign(network.edges.size(), LinkKind::cable);
  for (size_t edge = 0; edge < 4; ++edge) network.link_kinds[edge] = LinkKind::nvlink;
  const auto forwards = [&](Rank src, Rank dst) {
    ir::Plan plan;
    plan.shape.ranks = 4;
    plan.moves.emplace_back();
    plan.moves[0].src = src;
    plan.moves[0].dst = dst;
    return needs_forwarding(plan, network);
  };
  EXPECT_FALSE(forwards(0, 2));
  EXPECT_FALSE(forwards(0, 1)) << "inside a host";
  EXPECT_TRUE(forwards(0, 3));
  cable(network, leaves[0], leaves[1], 10);
  network.link_kinds.resize(network.edges.size(), LinkKind::cable);
  EXPECT_FALSE(forwards(0, 3)) << "over both leaves";
}

TEST(FlowRoutes, OverLinksOfTheAskedKindOnly) {
  using topology::LinkKind;
  // Two ranks, joined directly, over a switch, and over two switches.
  Network network;
  rank_node(network), rank_node(network);
  const int32_t bridge = node(network), left = node(network), right = node(network);
  for (const auto& [from, to] :
       {std::pair(0, 1), {0, bridge}, {bridge, 1}, {0, left}, {left, right}, {right, 1}})
    cable(network, from, to, 10);
  network.link_kinds.assign(network.edges.size(), LinkKind::pci);
  network.link_kinds[0] = network.link_kinds[1] = LinkKind::nvlink;
  network.link_kinds[8] = network.link_kinds[9] = LinkKind::cable;  // between left and right
  FlowRoutes routes(network);
  const auto by = [&](ir::MoveWay way) {
    const auto found = routes.route(0, 1, 0, way);
    EXPECT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(routes.way_of(*found), way == ir::MoveWay::any ? ir::MoveWay::nvlink : way);
    return std::vector<int32_t>(found->begin(), found->end());
  };
  EXPECT_THAT(by(ir::MoveWay::any), ElementsAre(0));
  EXPECT_THAT(by(ir::MoveWay::nvlink), ElementsAre(0));
  EXPECT_THAT(by(ir::MoveWay::pcie), ElementsAre(2, 4));
  EXPECT_FALSE(routes.route(0, 1, 0, ir::MoveWay::xgmi).ok());
  const auto net = routes.route(0, 1, 0, ir::MoveWay::net);
  ASSERT_FALSE(net.ok()) << "the shortest path has no cable";
  EXPECT_EQ(net.status().message(), "the path from rank 0 to rank 1 has no network cable");
}

TEST(FlowRoutes, TheWidestOfTheShortest) {
  Network network;
  rank_node(network), rank_node(network);
  for (const double gigabytes : {10.0, 25.0, 20.0}) {
    const int32_t middle = node(network);
    cable(network, 0, middle, gigabytes);
    cable(network, middle, 1, 25);
  }
  FlowRoutes routes(network);
  EXPECT_THAT(route(routes, 0, 1), ElementsAre(4, 6));
  EXPECT_THAT(route(routes, 0, 1, 1), ElementsAre(4, 6));
  cable(network, 0, 1, 1);
  FlowRoutes direct(network);
  EXPECT_THAT(route(direct, 0, 1), ElementsAre(12));
}

TEST(FlowRoutes, SpinesAreUsedAlike) {
  const LeafSpine shape{.hosts = 8, .gpus = 2, .hosts_per_leaf = 4, .spines = 4, .uplink = 25};
  const Network network = leaf_spine(shape);
  FlowRoutes routes(network);
  std::map<int32_t, int> uses;  // by edge
  for (Rank src = 0; src < 8; ++src) {
    for (uint32_t channel = 0; channel < 2; ++channel) {
      const auto edges = route(routes, src, src + 8, channel);
      EXPECT_EQ(edges.size(), 6u);
      for (const int32_t edge : edges) ++uses[edge];
      EXPECT_EQ(route(routes, src, src + 8, channel), edges);
    }
  }
  const auto first_uplink = static_cast<int32_t>(network.edges.size()) - 4 * 2 * 2;
  for (int spine = 0; spine < 4; ++spine) {
    EXPECT_EQ(uses[first_uplink + 4 * spine], 4);      // leaf 0 up
    EXPECT_EQ(uses[first_uplink + 4 * spine + 3], 4);  // leaf 1 down
  }
}

TEST(FlowRoutes, Refused) {
  Network network = star(2, 10);
  rank_node(network);
  FlowRoutes routes(network);
  const auto said = [&](Rank src, Rank dst) { return routes.route(src, dst).status().message(); };
  EXPECT_EQ(said(0, 3), "no route from rank 0 to rank 3: expected ranks 0 to 2");
  EXPECT_EQ(said(1, 1), "no route from rank 1 to itself: expected two different ranks");
  EXPECT_EQ(said(0, 2), "no path leads from rank 0 to rank 2");
  EXPECT_EQ(said(0, 2), "no path leads from rank 0 to rank 2");
  EXPECT_EQ(said(0, 1), "");
}

}  // namespace
}  // namespace weir::sim
