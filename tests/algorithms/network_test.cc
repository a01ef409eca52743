// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "algorithms/network/ratio.h"
#include "algorithms/network/symmetry.h"
#include "tests/algorithms/ground_truth.h"
#include "tests/algorithms/random_network.h"

namespace weir::algorithms {
namespace {

TEST(Ratio, IsInLowestTerms) {
  EXPECT_EQ(text(Ratio(50, 312)), "25/156");
  EXPECT_EQ(text(Ratio(80, 2)), "40");
  EXPECT_EQ(text(Ratio(0, 7)), "0");
  EXPECT_EQ(text(Ratio(25, 156).inverse()), "156/25");
}

TEST(Ratio, ComparesLikeFractions) {
  for (int a = 0; a < 14; ++a) {
    for (int b = 1; b < 14; ++b) {
      for (int c = 0; c < 14; ++c) {
        for (int d = 1; d < 14; ++d) {
          ASSERT_TRUE((Ratio(a, b) <=> Ratio(c, d)) == (a * d <=> c * b))
              << a << "/" << b << " " << c << "/" << d;
        }
      }
    }
  }
}

TEST(Ratio, ComparesWithoutOverflow) {
  const Int128 huge = Int128{1} << 125;
  EXPECT_LT(Ratio(huge - 1, huge), Ratio(1, 1));
  EXPECT_LT(Ratio(huge - 2, huge - 1), Ratio(huge - 1, huge));
  EXPECT_GT(Ratio(huge, huge - 1), Ratio(huge + 1, huge));
}

/// Equal networks under other numbers get equal colours, so symmetric nodes do.
TEST(Colours, DoNotDependOnNumbers) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const Network network = random_network(seed, 5, 3, 2);
    std::vector<int32_t> moved(static_cast<size_t>(network.nodes));
    for (size_t i = 0; i < moved.size(); ++i) moved[i] = static_cast<int32_t>(i);
    std::shuffle(moved.begin(), moved.end(), std::mt19937(seed));
    // Both in one, so that one numbering of the colours holds for both.
    Network twice = network;
    const auto copy = [&](int32_t node) { return network.nodes + moved[static_cast<size_t>(node)]; };
    twice.nodes *= 2;
    for (int32_t node : network.rank_nodes) twice.rank_nodes.push_back(copy(node));
    for (const Edge& edge : network.edges)
      twice.edges.push_back({copy(edge.from), copy(edge.to), edge.capacity});
    const std::vector<int32_t> colours = colours_of(twice);
    for (int32_t node = 0; node < network.nodes; ++node) {
      EXPECT_EQ(colours[static_cast<size_t>(node)], colours[static_cast<size_t>(copy(node))])
          << "seed " << seed;
    }
  }
}

TEST(Colours, TellPartsApart) {
  const auto count = [](const Network& network) {
    const std::vector<int32_t> colours = colours_of(network);
    return std::set<int32_t>(colours.begin(), colours.end()).size();
  };
  EXPECT_EQ(count(star(8, 300)), 2u);
  EXPECT_EQ(count(a100_boxes(4)), 4u) << "GPUs, NVSwitches, NICs, global switches";
  EXPECT_EQ(count(uneven_boxes({8, 8}, false)), 3u);
  EXPECT_EQ(count(uneven_boxes({8, 4}, false)), 5u) << "boxes differ";
  EXPECT_EQ(count(leaf_spine({40, 8, 300, 8, 25, 25, 20, 500, true})), 5u);
}

}  // namespace
}  // namespace weir::algorithms
