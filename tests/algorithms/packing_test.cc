// SPDX-License-Identifier: Apache-2.0
/// Packings against known optima, against brute force over all cuts, and against their judge.
#include "algorithms/packing/pack.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "algorithms/bound/cut.h"
#include "algorithms/packing/direct_trees.h"
#include "algorithms/packing/logical_graph.h"
#include "algorithms/proof/tree_proof.h"
#include "tests/algorithms/cut_bandwidth.h"
#include "tests/algorithms/ground_truth.h"
#include "tests/base/sanitized.h"

namespace weir::algorithms {
namespace {

std::vector<int64_t> everybody(const Network& network) {
  return std::vector<int64_t>(network.rank_nodes.size(), 1);
}

/// GB/s as units of capacity.
Rational units(const Exactly& bandwidth) {
  return Rational(bandwidth.numerator * 1'000'000, bandwidth.denominator);
}

/// What the judge says, and whether the loss is the one stated.
void expect_sound(const Network& network, const Packed& packed, const Rational& bound,
                  const std::string& words) {
  const auto loads = check_packing(network, packed.packing);
  ASSERT_TRUE(loads.ok()) << words << ": " << loads.status().message();
  EXPECT_EQ(packed.packing.bandwidth * packed.trees_per_root, packed.part_of_bound * bound) << words;
  EXPECT_LE(packed.part_of_bound, 1) << words;
}

TEST(Packing, ReachesKnownOptima) {
  for (const AllGatherTruth& truth : all_gather_truths()) {
    if (truth.ranks > (testing::kSanitized ? 16 : 64)) continue;
    const Network network = truth.network();
    const auto packed = pack(network, everybody(network), units(truth.each));
    ASSERT_TRUE(packed.ok()) << truth.name << ": " << packed.status().message();
    expect_sound(network, *packed, units(truth.each), truth.name);
    if (truth.trees_per_root >= 1 && truth.trees_per_root <= 8) {
      EXPECT_EQ(packed->part_of_bound, 1) << truth.name;
      EXPECT_LE(packed->trees_per_root, truth.trees_per_root) << truth.name;
    } else {
      EXPECT_GE(packed->part_of_bound, Rational(98, 100)) << truth.name;
    }
  }
}

TEST(Packing, OneHopIsEnoughWhereAllLinksAreEqual) {
  for (const Network& network : {star(72, 900), mesh(8, 48)}) {
    const int ranks = network.ranks();
    const Rational bound = units({ranks > 8 ? 900 : 7 * 48, ranks - 1});
    const auto packing = direct_trees(network, everybody(network), bound);
    ASSERT_TRUE(packing.has_value());
    EXPECT_EQ(height(*packing), 1);
    const auto loads = check_packing(network, *packing);
    ASSERT_TRUE(loads.ok()) << loads.status().message();
    EXPECT_EQ(loads->use, 1);
    EXPECT_FALSE(direct_trees(network, everybody(network), bound * 1000 / 999).has_value());
  }
}

TEST(Packing, OneHopIsNotEnoughForOneRoot) {
  EXPECT_FALSE(direct_trees(star(8, 300), {1, 0, 0, 0, 0, 0, 0, 0}, units({300, 1})).has_value());
}

TEST(Packing, AsManyTreesAsNeededLoseNothing) {
  for (const AllGatherTruth& truth : all_gather_truths()) {
    if (truth.ranks > (testing::kSanitized ? 16 : 32) || truth.trees_per_root == 0) continue;
    const Network network = truth.network();
    const auto packed = pack_few(network, everybody(network), units(truth.each), truth.trees_per_root);
    ASSERT_TRUE(packed.ok()) << truth.name << ": " << packed.status().message();
    expect_sound(network, *packed, units(truth.each), truth.name);
    EXPECT_EQ(packed->part_of_bound, 1) << truth.name;
  }
}

TEST(Packing, FewTreesLoseWhatIsKnown) {
  struct Row {
    std::string name;
    int trees_per_root;
    Exactly algorithm_bandwidth;  // all ranks' blocks together, GB/s
  };
  const std::vector<Row> rows = {
      {"MI250-16 x1", 1, {800, 3}},  {"MI250-16 x1", 2, {320, 1}},  {"MI250-16 x1", 3, {2400, 7}},
      {"MI250-16 x2", 1, {320, 1}},  {"MI250-16 x2", 2, {1024, 3}}, {"MI250-16 x2", 5, {8000, 23}},
      {"MI250 8+8", 1, {200, 1}},    {"MI250 8+8", 4, {1024, 5}},   {"MI250 8+8", 13, {208, 1}},
      {"A100 x2", 1, {2400, 7}},     {"A100 x2", 13, {1040, 3}},    {"4xMI250 node", 1, {800, 3}},
      {"4xMI250 node", 3, {300, 1}}, {"4xMI250 node", 4, {320, 1}}, {"4xMI250 node", 5, {1000, 3}},
      {"DGX-1V", 1, {400, 3}},       {"DGX-1V", 2, {160, 1}},       {"DGX-1V", 3, {150, 1}},
      {"DGX-1V", 6, {1200, 7}},
  };
  const std::vector<AllGatherTruth> truths = all_gather_truths();
  for (const Row& row : rows) {
    const auto truth = std::find_if(truths.begin(), truths.end(),
                                    [&](const AllGatherTruth& other) { return other.name == row.name; });
    ASSERT_NE(truth, truths.end()) << row.name;
    const Network network = truth->network();
    const auto packed = pack_few(network, everybody(network), units(truth->each), row.trees_per_root);
    ASSERT_TRUE(packed.ok()) << row.name << ": " << packed.status().message();
    const std::string words = fmt::format("{}, {} trees per root", row.name, row.trees_per_root);
    expect_sound(network, *packed, units(truth->each), words);
    EXPECT_EQ(packed->packing.bandwidth * row.trees_per_root * truth->ranks, units(row.algorithm_bandwidth))
        << words;
  }
}

TEST(Packing, ASwitchIsCrossedOnce) {
  const Network network = star(8, 300);
  const auto packed = pack(network, everybody(network), Rational(300'000'000, 7));
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(packed->packing.trees.size(), 8u);
  EXPECT_EQ(height(packed->packing), 1);
  for (const Tree& tree : packed->packing.trees) {
    for (const TreeEdge& edge : tree.edges) EXPECT_EQ(edge.route.size(), 2u);
  }
}

/// Rank 0 - switch 2 - rank 1, and switch 3 behind switch 2.
TEST(LogicalGraph, LeavesOutDetours) {
  const Network network{4, {0, 1}, {{0, 2, 5}, {2, 1, 5}, {2, 3, 5}, {3, 2, 5}}, {}, {}};
  LogicalGraph graph(network, {5, 5, 5, 5});
  graph.split(0, 2, 3, 5);
  graph.split(3, 2, 1, 4);
  EXPECT_EQ(graph.capacity(0, 3), 5);
  EXPECT_EQ(graph.capacity(2, 1), 1);
  graph.split(0, 3, 1, 4);
  EXPECT_EQ(graph.targets(0), (std::vector<int>{1, 3}));
  EXPECT_EQ(graph.widest(0, 1), 4);
  EXPECT_EQ(graph.take(0, 1, 3), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(graph.widest(0, 1), 1);
}

/// Trees grow in turns, so that the last ones are no chains.
TEST(Packing, TreesAreLow) {
  const auto height_of = [](const Network& network, const Rational& bound) {
    const auto packed = pack(network, everybody(network), bound);
    return packed.ok() ? height(packed->packing) : -1;
  };
  EXPECT_EQ(height_of(part_of(kDgx1v, 8, 25), Rational(150'000'000, 7)), 3);
  EXPECT_EQ(height_of(part_of(kMi250Node66, 8, 50), Rational(125'000'000, 3)), 4);
  EXPECT_EQ(height_of(a100_boxes(2), Rational(65'000'000, 3)), 2);
}

TEST(Packing, IsTheSameEveryTime) {
  const Network network = mi250_boxes(2, 8);
  const auto once = pack(network, everybody(network), 13'000'000);
  const auto again = pack(network, everybody(network), 13'000'000);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(once->packing, again->packing);
}

/// Most bandwidth per weight, by brute force over all cuts; 0 where ranks cannot reach each other.
Rational bound_of(const Network& network, const std::vector<int64_t>& weights) {
  Rational least = -1;
  for (uint32_t set = 1; set < uint32_t{1} << network.nodes; ++set) {
    std::vector<char> inside(static_cast<size_t>(network.nodes));
    for (int node = 0; node < network.nodes; ++node) inside[static_cast<size_t>(node)] = set >> node & 1;
    const auto bandwidth = cut_bandwidth(network, weights, inside);
    if (bandwidth.ok() && (least < 0 || *bandwidth < least)) least = *bandwidth;
  }
  return least;
}

/// The least k for which every capacity is a whole number of trees.
int whole_trees(const Network& network, const Rational& bound) {
  boost::multiprecision::cpp_int trees = 1;
  for (const Edge& edge : network.edges) trees = lcm(trees, denominator(Rational(edge.capacity) / bound));
  return static_cast<int>(trees);
}

struct Random {
  std::mt19937 engine;
  int below(int end) { return static_cast<int>(engine() % static_cast<unsigned>(end)); }
};

void add(Network& network, int32_t from, int32_t to, int64_t capacity) {
  for (Edge& edge : network.edges) {
    if (edge.from == from && edge.to == to) {
      edge.capacity += capacity;
      return;
    }
  }
  network.edges.push_back({from, to, capacity});
}

/// Directed cycles: what enters a node leaves it, but links are not the same both ways.
Network balanced(Random& random, int ranks, int switches) {
  Network network;
  network.nodes = ranks + switches;
  std::vector<int32_t> order(static_cast<size_t>(network.nodes));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random.engine);
  for (int rank = 0; rank < ranks; ++rank) network.rank_nodes.push_back(order[static_cast<size_t>(rank)]);
  for (int cycle = 0; cycle < 4; ++cycle) {
    std::shuffle(order.begin(), order.end(), random.engine);
    const int length = cycle == 0 ? network.nodes : 2 + random.below(network.nodes - 1);
    const int64_t capacity = 1 + random.below(3);
    for (int i = 0; i < length; ++i) {
      add(network, order[static_cast<size_t>(i)], order[static_cast<size_t>((i + 1) % length)], capacity);
    }
  }
  return network;
}

TEST(Packing, ReachesTheBoundOfRandomNetworks) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Random random{std::mt19937(seed)};
    const int ranks = 2 + random.below(4);
    const Network network = balanced(random, ranks, random.below(4));
    std::vector<int64_t> weights(static_cast<size_t>(ranks), 1);
    if (seed % 3 == 1) {
      for (int64_t& weight : weights) weight = random.below(3);
      ++weights[static_cast<size_t>(random.below(ranks))];
    }
    if (seed % 3 == 2) {
      weights.assign(static_cast<size_t>(ranks), 0);
      weights[static_cast<size_t>(random.below(ranks))] = 1;
    }
    const Rational bound = bound_of(network, weights);
    ASSERT_GT(bound, 0);
    const auto packed = pack_few(network, weights, bound, whole_trees(network, bound));
    ASSERT_TRUE(packed.ok()) << "seed " << seed << ": " << packed.status().message();
    expect_sound(network, *packed, bound, fmt::format("seed {}", seed));
    EXPECT_EQ(packed->part_of_bound, 1) << "seed " << seed;
  }
}

/// What a switch gives out must have come in, which cuts do not see: 12 blocks of 4 links of 50.
TEST(Packing, ASwitchCannotCopy) {
  Network network = star(4, 100);
  for (size_t e = 0; e < network.edges.size(); e += 2) network.edges[e].capacity /= 2;
  const Rational bound = bound_of(network, everybody(network));
  const auto packed = pack_few(network, everybody(network), bound, 1);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  expect_sound(network, *packed, bound, "star");
  EXPECT_EQ(packed->packing.bandwidth, Rational(50'000'000, 3));
}

/// Links are wider one way than the other, at ranks and between switches.
TEST(Packing, TakesLinksThatDifferBothWays) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random{std::mt19937(seed)};
    Network network = balanced(random, 2 + random.below(4), 1 + random.below(3));
    for (Edge& edge : network.edges) edge.capacity += random.below(3);
    const Rational bound = bound_of(network, everybody(network));
    const auto packed = pack(network, everybody(network), bound, {.most_trees = 12});
    ASSERT_TRUE(packed.ok()) << "seed " << seed << ": " << packed.status().message();
    expect_sound(network, *packed, bound, fmt::format("seed {}", seed));
  }
}

/// Weights as they come, the bound from its finder, and the ratio from the judge: the cut proves it.
TEST(Packing, IsCertifiedByACut) {
  struct Row {
    Network network;
    std::vector<int64_t> weights;
  };
  const std::vector<Row> rows = {{uneven_boxes({8, 4}, false), std::vector<int64_t>(12, 1)},
                                 {uneven_boxes({4, 2, 2}, true), std::vector<int64_t>(8, 1)},
                                 {part_of(kDgx1v, 7, 25), {0, 0, 0, 1, 0, 0, 0}},
                                 {kt_nodes(2), std::vector<int64_t>(16, 1)},
                                 {star(5, 10), {3, 1, 4, 1, 5}}};
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [network, weights] = rows[i];
    std::vector<Rank> sinks(weights.size());
    std::iota(sinks.begin(), sinks.end(), 0);
    const auto cut = narrowest_cut(network, weights, sinks, Direction::along);
    ASSERT_TRUE(cut.ok()) << cut.status().message();
    const auto packed = pack(network, weights, exactly(cut->ratio), {.optimal_trees = 64});
    ASSERT_TRUE(packed.ok()) << packed.status().message();
    expect_sound(network, *packed, exactly(cut->ratio), fmt::format("row {}", i));
    std::vector<char> outside(static_cast<size_t>(network.nodes), 1);
    for (int32_t node : cut->inside) outside[static_cast<size_t>(node)] = 0;
    EXPECT_EQ(*cut_bandwidth(network, packed->packing.shares, outside), packed->packing.bandwidth)
        << "row " << i;
  }
}

TEST(Packing, OneRankAlone) {
  Network network;
  network.nodes = 1;
  network.rank_nodes = {0};
  const auto packed = pack(network, {1}, 1);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_TRUE(check_packing(network, packed->packing).ok());
}

TEST(Packing, SaysWhatItCannotPack) {
  const auto said = [](const Network& network, const std::vector<int64_t>& weights, const Rational& bound) {
    const auto packed = pack(network, weights, bound);
    return packed.ok() ? std::string("fine") : packed.status().message();
  };
  const Network two = mesh(2, 1);
  EXPECT_EQ(said(two, {1, 1}, 1'000'000), "fine");
  EXPECT_EQ(said({}, {}, 1), "a network without ranks: expected at least one");
  EXPECT_EQ(said(two, {1}, 1), "weights of 1 ranks: the network has 2");
  EXPECT_EQ(said(two, {1, -1}, 1), "rank 1 has weight -1: expected at least 0");
  EXPECT_EQ(said(two, {INT64_MAX, 1}, 1),
            "590295810358705651712 trees over 2 ranks and 2 edges: too many to count");
  EXPECT_EQ(said(two, {0, 0}, 1), "no rank has a weight: expected a root");
  EXPECT_EQ(said(two, {1, 1}, 0), "a bound of 0: expected more than 0");
  Network apart = two;
  apart.edges.pop_back();
  EXPECT_EQ(said(apart, {1, 1}, 1), "a rank cannot be reached by all others: expected a connected network");
  EXPECT_EQ(pack_few(two, {1, 1}, 1, 0).status().message(), "0 trees per root: expected at least 1");
}

TEST(Packing, OfHugeCapacitiesIsExact) {
  Network network = star(3, 1);
  const int64_t huge = INT64_MAX / 2;
  for (Edge& edge : network.edges) edge.capacity = huge;
  const auto packed = pack(network, everybody(network), Rational(huge, 2));
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(packed->packing.bandwidth, Rational(huge, 2));
  EXPECT_TRUE(check_packing(network, packed->packing).ok());
}

}  // namespace
}  // namespace weir::algorithms
