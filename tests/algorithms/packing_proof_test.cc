// SPDX-License-Identifier: Apache-2.0
/// The judge of packings: right ones pass with their exact loads, broken ones are refused with what is wrong.
#include "algorithms/proof/tree_proof.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/algorithms/cut_bandwidth.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

// Three ranks at nodes 0 to 2, a switch at node 3: edge 2r goes from rank r to the switch, 2r + 1 back.
TreeEdge hop(Rank from, Rank to) { return {from, to, {2 * from, 2 * to + 1}}; }

Packing right() {
  return {{1, 1, 1},
          50'000'000,
          {{0, 1, {hop(0, 1), hop(0, 2)}}, {1, 1, {hop(1, 0), hop(0, 2)}}, {2, 1, {hop(2, 1), hop(1, 0)}}}};
}

TEST(TreeProof, AcceptsARightPacking) {
  Packing packing = right();
  packing.bandwidth = Rational(100'000'000, 3);
  const auto loads = check_packing(star(3, 100), packing);
  ASSERT_TRUE(loads.ok()) << loads.status().message();
  EXPECT_EQ(loads->trees, (std::vector<int64_t>{3, 2, 2, 2, 1, 2}));
  EXPECT_EQ(loads->tightest, 0);
  EXPECT_EQ(loads->use, 1);
}

std::string said(const std::function<void(Packing&)>& damage) {
  Packing packing = right();
  packing.bandwidth = 30'000'000;
  damage(packing);
  const auto loads = check_packing(star(3, 100), packing);
  return loads.ok() ? "right" : loads.status().message();
}

TEST(TreeProof, NamesTheFirstWrongThing) {
  EXPECT_EQ(said([](Packing&) {}), "right");
  EXPECT_EQ(said([](Packing& p) { p.trees[1].edges.pop_back(); }), "tree 1 of root 1 does not reach rank 2");
  EXPECT_EQ(said([](Packing& p) { p.trees[1].edges.push_back(hop(0, 2)); }),
            "tree 1, edge 2 (0 to 2): rank 2 is delivered to twice");
  EXPECT_EQ(said([](Packing& p) { p.trees[1].edges[1] = hop(0, 1); }),
            "tree 1, edge 1 (0 to 1): rank 1 is delivered to twice");
  EXPECT_EQ(said([](Packing& p) { p.trees[2].root = 0; }),
            "tree 2, edge 0 (2 to 1): rank 2 has nothing to send yet");
  EXPECT_EQ(said([](Packing& p) { p.trees[2] = p.trees[0]; }), "rank 0 is the root of 2 trees, expected 1");
  EXPECT_EQ(said([](Packing& p) { std::swap(p.trees[1].edges[0], p.trees[1].edges[1]); }),
            "tree 1, edge 0 (0 to 2): rank 0 has nothing to send yet");
  EXPECT_EQ(said([](Packing& p) { p.bandwidth = 50'000'000; }),
            "edge 0 of the network (node 0 to 3) carries 150000000, more than its capacity 100000000");
  EXPECT_EQ(said([](Packing& p) { p.bandwidth = 0; }), "trees without bandwidth: expected more than 0");
  EXPECT_EQ(said([](Packing& p) { p.trees[0].multiplicity = 0; }),
            "tree 0 has multiplicity 0, expected at least 1");
  EXPECT_EQ(said([](Packing& p) { p.shares.pop_back(); }), "a packing for 2 ranks: the network has 3");
  EXPECT_EQ(said([](Packing& p) { p.trees[0].root = 3; }), "tree 0 has root 3, not a rank");
  EXPECT_EQ(said([](Packing& p) { p.trees[0].edges[0].to = 7; }),
            "tree 0, edge 0 (0 to 7): not between two ranks");
}

TEST(TreeProof, FollowsRoutes) {
  const auto route = [](std::vector<int32_t> edges) {
    return said([&](Packing& p) { p.trees[0].edges[0].route = std::move(edges); });
  };
  EXPECT_EQ(route({0, 6}), "tree 0, edge 0 (0 to 1): the network has no edge 6");
  EXPECT_EQ(route({-1}), "tree 0, edge 0 (0 to 1): the network has no edge -1");
  EXPECT_EQ(route({}), "tree 0, edge 0 (0 to 1): the route ends at node 0, not at node 1");
  EXPECT_EQ(route({0}), "tree 0, edge 0 (0 to 1): the route ends at node 3, not at node 1");
  EXPECT_EQ(route({0, 2}), "tree 0, edge 0 (0 to 1): edge 2 of the route starts at node 1, not at node 3");
  EXPECT_EQ(route({0, 5, 4, 3}), "tree 0, edge 0 (0 to 1): the route passes through rank 2");
}

TEST(TreeProof, CountsCuts) {
  const Network network = star(3, 100);
  const auto bandwidth = [&](const std::vector<char>& inside) {
    return cut_bandwidth(network, {1, 1, 2}, inside);
  };
  EXPECT_EQ(*bandwidth({1, 1, 0, 1}), 50'000'000);
  EXPECT_EQ(*bandwidth({1, 1, 0, 0}), 100'000'000);
  EXPECT_EQ(*bandwidth({0, 1, 1, 1}), Rational(100'000'000, 3));
  EXPECT_EQ(bandwidth({1, 1, 1, 0}).status().message(), "a cut with all ranks inside: expected one outside");
  EXPECT_EQ(bandwidth({0, 0, 0, 1}).status().message(),
            "a cut with no share inside: expected a rank that is the root of trees");
  EXPECT_EQ(bandwidth({1, 1}).status().message(), "a cut of 2 nodes: the network has 4");
  EXPECT_EQ(cut_bandwidth(network, {1}, {1, 1, 1, 0}).status().message(),
            "shares of 1 ranks: the network has 3");
}

/// The trees of right() the other way round: edge 2r of the star leads from rank r, 2r + 1 back to it.
Packing turned(Packing packing) {
  for (Tree& tree : packing.trees) {
    for (TreeEdge& edge : tree.edges) {
      for (int32_t& number : edge.route) number ^= 1;
    }
  }
  return packing;
}

std::string said_of_both(const std::function<void(Packing& up, Packing& down)>& damage) {
  Packing down = right();
  down.bandwidth = 20'000'000;
  Packing up = turned(down);
  damage(up, down);
  const auto loads = check_both(star(3, 100), up, down);
  return loads.ok() ? "right" : loads.status().message();
}

TEST(TreeProof, PackingsAtTheSameTimeAddUp) {
  Packing packing = right();
  packing.bandwidth = 20'000'000;
  const auto loads = check_both(star(3, 100), turned(packing), packing);
  ASSERT_TRUE(loads.ok()) << loads.status().message();
  EXPECT_EQ(loads->trees, (std::vector<int64_t>{5, 5, 4, 4, 3, 3}));
  EXPECT_EQ(loads->use, 1);

  EXPECT_EQ(said_of_both([](Packing&, Packing&) {}), "right");
  // Each by itself would fit.
  EXPECT_EQ(said_of_both([](Packing& up, Packing& down) { up.bandwidth = down.bandwidth = 25'000'000; }),
            "edge 0 of the network (node 0 to 3) carries 125000000, more than its capacity 100000000");
  EXPECT_EQ(said_of_both([](Packing& up, Packing&) { up.bandwidth = 10'000'000; }),
            "trees that sum have bandwidth 10000000 and those that spread 20000000: expected the same");
  EXPECT_EQ(said_of_both([](Packing& up, Packing&) {
              up.trees.pop_back();
              up.shares[2] = 0;
            }),
            "rank 2 is the root of 0 trees that sum and 1 that spread: expected equal numbers");
  EXPECT_EQ(said_of_both([](Packing& up, Packing&) { up.trees[1].edges.pop_back(); }),
            "tree 1 of root 1 does not reach rank 2");
  EXPECT_EQ(said_of_both([](Packing&, Packing& down) { down.trees[1].edges.pop_back(); }),
            "tree 1 of root 1 does not reach rank 2");
}

}  // namespace
}  // namespace weir::algorithms
