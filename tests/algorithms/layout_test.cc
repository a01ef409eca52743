// SPDX-License-Identifier: Apache-2.0
// Ranks put in order by the topology, and plans over ranks in any order.
#include "algorithms/catalogue/layout.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/relabel.h"
#include "algorithms/ir/verify.h"
#include "tests/algorithms/some_layout.h"
#include "topology/model/graph.h"

namespace weir::algorithms {
namespace {

using ::testing::ElementsAre;
using topology::FabricSwitchFacts;
using topology::Graph;
using topology::HostFacts;
using topology::Index;
using topology::kNone;
using topology::LinkKind;

void cable(Graph& graph, Index a, Index b) { graph.connect({a, b, LinkKind::cable, 1, 50, 0, -1}); }

/// `pods` of `leaves` of `hosts`; the leaves of a pod are cabled to its spines, and spines to one core.
struct Fabric {
  Fabric(int pods, int leaves, int hosts) {
    const Index core = graph.add("core", kNone, FabricSwitchFacts{3, 0, 0});
    for (int p = 0; p < pods; ++p) {
      const Index spine = graph.add(fmt::format("spine{}", p), kNone, FabricSwitchFacts{2, 0, 0});
      cable(graph, spine, core);
      for (int l = 0; l < leaves; ++l) {
        const Index leaf = graph.add(fmt::format("leaf{}.{}", p, l), kNone, FabricSwitchFacts{1, 0, 0});
        cable(graph, leaf, spine);
        for (int h = 0; h < hosts; ++h) {
          all.push_back(graph.add(fmt::format("host{}.{}.{}", p, l, h), kNone, HostFacts{}));
          cable(graph, all.back(), leaf);
          leaf_of[all.back()] = leaf;
          spine_of[all.back()] = spine;
        }
      }
    }
  }
  Graph graph;
  std::vector<Index> all;
  std::map<Index, Index> leaf_of, spine_of;
};

/// How often a ring in that order goes from one group to another.
template <typename Group>
int crossings(const std::vector<Rank>& order, const std::vector<Index>& hosts, Group group) {
  int count = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto at = [&](size_t place) {
      return group(hosts[static_cast<size_t>(order[place % order.size()])]);
    };
    count += at(i) != at(i + 1);
  }
  return count;
}

TEST(LayoutTest, EntersEachGroupOnce) {
  std::mt19937 random(7);
  const Fabric fabric(3, 4, 5);
  for (int round = 0; round < 50; ++round) {
    std::vector<Index> hosts;  // one or two ranks on some of the hosts, in any order
    for (const Index host : fabric.all) hosts.insert(hosts.end(), random() % 3, host);
    std::shuffle(hosts.begin(), hosts.end(), random);
    const Layout layout = layout_of(fabric.graph, hosts);
    const std::vector<Rank>& order = layout.order;
    EXPECT_EQ(std::set<Rank>(order.begin(), order.end()).size(), hosts.size());
    const auto least = [](int groups) { return groups > 1 ? groups : 0; };
    const auto groups_in = [&](auto group) {
      std::set<Index> found;
      for (const Index host : hosts) found.insert(group(host));
      return least(static_cast<int>(found.size()));
    };
    const auto host = [](Index h) { return h; };
    const auto leaf = [&](Index h) { return fabric.leaf_of.at(h); };
    const auto spine = [&](Index h) { return fabric.spine_of.at(h); };
    EXPECT_EQ(crossings(order, hosts, host), groups_in(host));
    EXPECT_EQ(crossings(order, hosts, leaf), groups_in(leaf));
    EXPECT_EQ(crossings(order, hosts, spine), groups_in(spine));
  }
}

TEST(LayoutTest, WhatIsGoodStays) {
  const Fabric fabric(2, 2, 2);
  std::vector<Rank> same(fabric.all.size());
  std::iota(same.begin(), same.end(), 0);
  EXPECT_EQ(layout_of(fabric.graph, fabric.all).order, same);
  EXPECT_TRUE(layout_of(fabric.graph, {}).order.empty());
}

TEST(LayoutTest, WithoutANetworkHostsStayTogether) {
  Graph graph;
  const Index a = graph.add("a", kNone, HostFacts{});
  const Index b = graph.add("b", kNone, HostFacts{});
  const Layout layout = layout_of(graph, std::vector<Index>{b, a, b, a});
  EXPECT_THAT(layout.order, ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(layout.levels, ElementsAre(ElementsAre(0, 2)));
}

TEST(LayoutTest, LevelsAreNestedAndTellSomething) {
  const Fabric fabric(2, 2, 2);
  std::vector<Index> two_each;
  for (const Index host : fabric.all) two_each.insert(two_each.end(), 2, host);
  EXPECT_THAT(
      layout_of(fabric.graph, two_each).levels,
      ElementsAre(ElementsAre(0, 8), ElementsAre(0, 4, 8, 12), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14)));
  EXPECT_THAT(layout_of(fabric.graph, fabric.all).levels,
              ElementsAre(ElementsAre(0, 4), ElementsAre(0, 2, 4, 6)))
      << "one rank per host: hosts are no groups";
  const std::vector<Index> one_leaf(fabric.all.begin(), fabric.all.begin() + 2);
  EXPECT_TRUE(layout_of(fabric.graph, one_leaf).levels.empty());
  const std::vector<Index> uneven = {fabric.all[4], fabric.all[0], fabric.all[1], fabric.all[4],
                                     fabric.all[0]};
  const Layout layout = layout_of(fabric.graph, uneven);
  EXPECT_THAT(layout.order, ElementsAre(0, 3, 1, 4, 2));
  EXPECT_THAT(layout.levels, ElementsAre(ElementsAre(0, 2), ElementsAre(0, 2, 4)));
}

/// Rank p of the plan is rank order[p]: with its blocks and its root.
TEST(Relabelled, EveryPlanIsVerifiedOrRefused) {
  std::mt19937 random(11);
  std::set<std::string_view> taken;
  for (const Entry& entry : catalogue()) {
    for (const int ranks : {1, 2, 3, 5, 8, 13}) {
      std::vector<Rank> order(static_cast<size_t>(ranks));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      const Rank root = has_root(entry.kind) ? ranks / 2 : 0;
      const Layout layout = some_layout(ranks);
      auto plan =
          emit(entry.algorithm, {entry.kind, ranks, root, default_chunks(entry, ranks, layout)}, layout);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      auto other = ir::relabelled(std::move(*plan), order);
      if (!other.ok()) continue;
      taken.insert(entry.algorithm);
      if (has_root(entry.kind)) {
        EXPECT_EQ(other->shape.root, order[static_cast<size_t>(root)]);
      }
      EXPECT_EQ(ir::verify(*other).message(), "")
          << entry.algorithm << " " << name(entry.kind) << " " << ranks;
    }
  }
  EXPECT_TRUE(taken.contains("ring") && taken.contains("double_tree"));
}

TEST(Relabelled, ThereAndBackIsTheSame) {
  const std::vector<Rank> order = {2, 0, 3, 1};
  const std::vector<Rank> back = {1, 3, 0, 2};
  auto plan = emit("ring", {Collective::all_gather, 4, 0, 1});
  ASSERT_TRUE(plan.ok());
  auto other = ir::relabelled(*plan, order);
  ASSERT_TRUE(other.ok());
  EXPECT_NE(*other, *plan);
  auto again = ir::relabelled(*other, back);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *plan);
}

TEST(Relabelled, LanesAreNumberedInTheOrderOfTheirUse) {
  const auto made = emit("double_tree", {Collective::all_reduce, 7, 0, 2});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const ir::Plan& plan = *made;
  ir::Plan other = plan;
  const auto number = [](Rank rank, uint8_t lane) {
    return static_cast<uint8_t>((5 * lane + 3 * rank + 1) % ir::kMaxLanes);
  };
  for (ir::Move& move : other.moves) {
    move.src_lane = number(move.src, move.src_lane);
    move.dst_lane = number(move.dst, move.dst_lane);
  }
  EXPECT_EQ(ir::verify(other).message(), "");
  EXPECT_NE(other, plan);
  const ir::Plan numbered = ir::with_lanes_in_order_of_use(other);
  EXPECT_EQ(ir::verify(numbered).message(), "");
  EXPECT_EQ(numbered, ir::with_lanes_in_order_of_use(plan));
  for (ir::Move& move : other.moves) {
    if (move.src == 3) move.src_lane = 0;
    if (move.dst == 3) move.dst_lane = 0;
  }
  EXPECT_NE(ir::with_lanes_in_order_of_use(other), numbered) << "one lane instead of several";
}

}  // namespace
}  // namespace weir::algorithms
