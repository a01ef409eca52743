// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/max_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/algorithms/ground_truth.h"
#include "tests/algorithms/random_network.h"

namespace weir::algorithms {
namespace {

/// The least over all sets with the sink of what enters it, supplies outside of it being cut too.
int64_t least_cut(const Network& network, const std::vector<int64_t>& supplies, int32_t sink) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (NodeSet set = 0; set < NodeSet{1} << network.nodes; ++set) {
    if (!holds(set, sink)) continue;
    int64_t cut = entering(network, set);
    for (int32_t node = 0; node < network.nodes; ++node) {
      if (holds(set, node)) cut += supplies[static_cast<size_t>(node)];
    }
    least = std::min(least, cut);
  }
  return least;
}

NodeSet set_of(std::span<const int32_t> nodes) {
  NodeSet set = 0;
  for (int32_t node : nodes) set |= NodeSet{1} << node;
  return set;
}

Network reversed(Network network) {
  for (Edge& edge : network.edges) std::swap(edge.from, edge.to);
  return network;
}

template <typename Amount>
void compare_with_cuts(const Network& network, const std::vector<int64_t>& supplies) {
  for (Direction direction : {Direction::along, Direction::against}) {
    const Network same = direction == Direction::along ? network : reversed(network);
    MaxFlow<Amount> flows(network.nodes, network.edges, direction);
    for (int32_t node = 0; node < network.nodes; ++node) {
      flows.set_supply(node, supplies[static_cast<size_t>(node)]);
    }
    for (int32_t sink = 0; sink < network.nodes; ++sink) {
      const int64_t least = least_cut(same, supplies, sink);
      flows.clear();
      ASSERT_EQ(static_cast<int64_t>(flows.run(sink, least + 1)), least) << "sink " << sink;
      int64_t cut = entering(same, set_of(flows.sink_side()));
      for (int32_t node : flows.sink_side()) cut += supplies[static_cast<size_t>(node)];
      EXPECT_EQ(cut, least);
      EXPECT_EQ(flows.sink_side()[0], sink);
      flows.clear();
      EXPECT_EQ(static_cast<int64_t>(flows.run(sink, least / 2)), least / 2);
      EXPECT_EQ(static_cast<int64_t>(flows.run(sink, least)), least - least / 2) << "in two parts";
    }
  }
}

TEST(MaxFlow, EqualsTheLeastCutOfRandomNetworks) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Network network = random_network(seed, 4, static_cast<int>(seed % 4), seed % 2 == 0 ? 3 : 1000);
    std::vector<int64_t> supplies(static_cast<size_t>(network.nodes), 0);
    for (size_t node = 0; node < supplies.size(); ++node) {
      supplies[node] = static_cast<int64_t>((seed * 7 + node * 13) % 5);
    }
    compare_with_cuts<int64_t>(network, supplies);
    compare_with_cuts<Int128>(network, supplies);
  }
}

TEST(MaxFlow, TheFlowIsOne) {
  const Network network = random_network(3, 5, 3, 50);
  MaxFlow<int64_t> flows(network.nodes, network.edges);
  flows.set_supply(0, MaxFlow<int64_t>::kUnlimited);
  const int64_t value = flows.run(1, 1 << 20);
  EXPECT_GT(value, 0);
  std::vector<int64_t> balance(static_cast<size_t>(network.nodes));
  for (size_t edge = 0; edge < network.edges.size(); ++edge) {
    EXPECT_LE(flows.flow(edge), network.edges[edge].capacity);
    balance[static_cast<size_t>(network.edges[edge].from)] -= flows.flow(edge);
    balance[static_cast<size_t>(network.edges[edge].to)] += flows.flow(edge);
  }
  for (int32_t node = 0; node < network.nodes; ++node) {
    EXPECT_EQ(balance[static_cast<size_t>(node)], node == 0 ? -value : node == 1 ? value : 0);
  }
}

TEST(MaxFlow, ManySuppliesGiveOnlyWhatTheyHave) {
  MaxFlow<int64_t> flows(9, star(8, 25).edges);
  for (int32_t rank = 0; rank < 8; ++rank) flows.set_supply(rank, 3'000'000);
  EXPECT_EQ(flows.run(5, INT64_MAX), 24'000'000);
  EXPECT_EQ(flows.sink_side().size(), 9u) << "no edge was full";
  flows.clear();
  flows.set_supply(2, MaxFlow<int64_t>::kUnlimited);
  EXPECT_EQ(flows.run(5, INT64_MAX), 28'000'000);
  EXPECT_EQ(flows.sink_side().size(), 1u) << "its own link was";
}

TEST(MaxFlow, CapacitiesMayChange) {
  const std::vector<Edge> edges = {{0, 1, 5}, {1, 2, 7}, {0, 1, 1}};
  MaxFlow<int64_t> flows(3, edges);
  flows.set_supply(0, MaxFlow<int64_t>::kUnlimited);
  EXPECT_EQ(flows.run(2, 100), 6) << "parallel edges add up";
  flows.clear();
  flows.set_capacity(1, 4);
  EXPECT_EQ(flows.run(2, 100), 4);
  flows.set_capacities(std::vector<int64_t>{1, 100, 2}, 10);
  EXPECT_EQ(flows.run(2, 100), 30);
  EXPECT_EQ(flows.flow(2), 20);
}

TEST(MaxFlow, HugeCapacities) {
  constexpr int64_t kMost = INT64_MAX;
  const std::vector<Edge> edges = {{0, 1, kMost}, {0, 2, kMost}, {1, 3, kMost}, {2, 3, kMost}};
  MaxFlow<Int128> flows(4, edges);
  flows.set_supply(0, MaxFlow<Int128>::kUnlimited);
  EXPECT_TRUE(flows.run(3, Int128{4} * kMost) == Int128{2} * kMost);
}

}  // namespace
}  // namespace weir::algorithms
