// SPDX-License-Identifier: Apache-2.0
// Spanning trees used both ways: as many as Tutte and Nash-Williams promise, with and without switches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "algorithms/bound/bound.h"
#include "algorithms/packing/rounding.h"
#include "algorithms/proof/tree_proof.h"
#include "algorithms/spanning/forests.h"
#include "algorithms/spanning/splitting.h"
#include "algorithms/spanning/two_way.h"
#include "tests/algorithms/ground_truth.h"
#include "tests/algorithms/random_network.h"
#include "tests/base/sanitized.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

/// A random network whose links are as fast back.
Network random_duplex(uint32_t seed) {
  Network network =
      random_network(seed, 2 + static_cast<int>(seed % 6), static_cast<int>(seed % 5), 1 + seed % 9);
  const std::vector<Edge> edges = std::move(network.edges);
  network.edges.clear();
  for (const Edge& edge : edges) {
    if (edge.from > edge.to) continue;
    network.edges.push_back(edge);
    network.edges.push_back({edge.to, edge.from, edge.capacity});
  }
  return network;
}

int64_t trees_of(const Packing& packing) {
  return std::accumulate(packing.shares.begin(), packing.shares.end(), int64_t{0});
}

TEST(TwoWay, WithEnoughTreesNothingIsLost) {
  PackingGoal goal;
  goal.most_trees = 2000;
  constexpr uint32_t kSeeds = testing::enough(250);
  uint32_t connected = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Network network = random_duplex(seed);
    const auto bound = lower_bound(network, Collective::all_reduce);
    if (!bound.ok()) {
      EXPECT_FALSE(pack_two_way(network, 1).ok()) << seed;
      continue;
    }
    ++connected;
    const auto packed = pack_two_way(network, exactly(bound->bandwidth()), goal);
    ASSERT_TRUE(packed.ok()) << seed << ": " << packed.status().message();
    EXPECT_EQ(packed->down.part_of_bound, 1) << seed;
    EXPECT_EQ(packed->down.packing.bandwidth * trees_of(packed->down.packing), exactly(bound->bandwidth()));
    EXPECT_EQ(check_both(network, packed->up.packing, packed->down.packing).status().message(), "") << seed;
  }
  EXPECT_GT(connected, kSeeds * 3 / 5);
}

TEST(TwoWay, FewTreesLoseWhatTheySay) {
  const Network network = mi250_boxes(2, 8);
  const auto bound = exactly(lower_bound(network, Collective::all_reduce)->bandwidth());
  Rational last = 0;
  for (const int most : {1, 3, 8}) {
    PackingGoal goal;
    goal.most_trees = most;
    const auto packed = pack_two_way(network, bound, goal);
    ASSERT_TRUE(packed.ok()) << packed.status().message();
    EXPECT_LE(trees_of(packed->down.packing), most);
    EXPECT_EQ(packed->down.packing.bandwidth * trees_of(packed->down.packing),
              packed->down.part_of_bound * bound);
    EXPECT_GT(packed->down.part_of_bound, last);
    last = packed->down.part_of_bound;
    EXPECT_EQ(check_both(network, packed->up.packing, packed->down.packing).status().message(), "");
  }
  EXPECT_EQ(last, 1);
}

TEST(TwoWay, UsesOfALinkWhatItsNarrowerDirectionHas) {
  Network network = mesh(3, 100);
  network.edges[0].capacity /= 2;  // from 0 to 1
  const auto packed = pack_two_way(network, 100'000'000);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(check_both(network, packed->up.packing, packed->down.packing).status().message(), "");
  EXPECT_EQ(packed->down.packing.bandwidth * trees_of(packed->down.packing), 100'000'000);

  Network ring;  // no way back
  ring.nodes = 3;
  ring.rank_nodes = {0, 1, 2};
  ring.edges = {{0, 1, 5}, {1, 2, 5}, {2, 0, 5}};
  EXPECT_THAT(pack_two_way(ring, 1).status().message(), HasSubstr("expected a connected network"));
}

TEST(TwoWay, IsTheSameEveryTime) {
  const Network network = part_of(kMi250Node71, 7, 50);
  const auto once = pack_two_way(network, 400'000'000 / Rational(3));
  const auto again = pack_two_way(network, 400'000'000 / Rational(3));
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(once->up.packing, again->up.packing);
  EXPECT_EQ(once->down.packing, again->down.packing);
}

TEST(TwoWay, RefusesWhatCannotBe) {
  EXPECT_THAT(pack_two_way(star(1, 10), 1).status().message(), HasSubstr("one rank"));
  EXPECT_THAT(pack_two_way(star(3, 10), 0).status().message(), HasSubstr("a bound of 0"));
  PackingGoal none;
  none.most_trees = 0;
  EXPECT_THAT(pack_two_way(star(3, 10), 1, none).status().message(), HasSubstr("0 trees"));
  Network twice = star(3, 10);
  twice.rank_nodes[1] = twice.rank_nodes[0];
  EXPECT_EQ(pack_two_way(twice, 1).status().code(), Code::invalid_argument);
}

/// A complete graph over `ranks`, one tree per link and way.
std::vector<DuplexLink> complete(int ranks) {
  std::vector<DuplexLink> links;
  for (int32_t a = 0; a < ranks; ++a) {
    for (int32_t b = a + 1; b < ranks; ++b) links.push_back({a, b, 1, {}});
  }
  return links;
}

/// Whether the links join all ranks without a cycle.
bool is_tree(int ranks, const std::vector<DuplexLink>& links, const std::vector<size_t>& tree) {
  std::vector<int32_t> part(static_cast<size_t>(ranks));
  std::iota(part.begin(), part.end(), 0);
  for (size_t link : tree) {
    const int32_t a = part[static_cast<size_t>(links[link].a)];
    const int32_t b = part[static_cast<size_t>(links[link].b)];
    if (a == b) return false;
    std::replace(part.begin(), part.end(), a, b);
  }
  return std::set<int32_t>(part.begin(), part.end()).size() == 1;
}

TEST(Forests, ACompleteGraphHasHalfAsManyTreesAsRanks) {
  for (int ranks = 2; ranks <= 13; ++ranks) {
    const std::vector<DuplexLink> links = complete(ranks);
    const auto trees = spanning_trees(ranks, links, ranks / 2);
    ASSERT_TRUE(trees.ok()) << ranks << ": " << trees.status().message();
    std::vector<int> uses(links.size());
    for (const std::vector<size_t>& tree : *trees) {
      EXPECT_TRUE(is_tree(ranks, links, tree)) << ranks;
      for (size_t link : tree) ++uses[link];
    }
    EXPECT_LE(*std::max_element(uses.begin(), uses.end()), 1) << ranks;
    EXPECT_THAT(spanning_trees(ranks, links, ranks / 2 + 1).status().message(), HasSubstr("lack"));
  }
}

TEST(Splitting, LeavesNoSwitchAndAsManyTrees) {
  const Network network = star(4, 6e-6);  // 6 trees each way at every rank
  std::vector<int64_t> capacities;
  for (const Edge& edge : network.edges) capacities.push_back(edge.capacity);
  DuplexGraph graph(network, capacities);
  // 12 links in all between ranks, 3 for a tree.
  EXPECT_TRUE(bears(graph, 4));
  EXPECT_FALSE(bears(graph, 5));
  ASSERT_EQ(split_off_switches(graph, 4).message(), "");
  EXPECT_EQ(graph.degree(4), 0);
  EXPECT_TRUE(bears(graph, 4));
  for (const DuplexLink& link : graph.links()) {
    EXPECT_EQ(link.capacity, 2);
    EXPECT_EQ(link.route.size(), 2u);
    EXPECT_EQ(network.edges[static_cast<size_t>(link.route.front())].from, link.a);
    EXPECT_EQ(network.edges[static_cast<size_t>(link.route.back())].to, link.b);
  }
  DuplexGraph full(network, capacities);
  EXPECT_THAT(split_off_switches(full, 5).message(), HasSubstr("5 spanning trees do not fit"));
}

}  // namespace
}  // namespace weir::algorithms
