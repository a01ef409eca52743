// SPDX-License-Identifier: Apache-2.0
/// The tree over grains, and sums that follow it.
#include "src/core/grains/grain_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "src/core/grains/tree_sums.h"

namespace weir::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Grains of a node, cut at the last one.
GrainRange grains_of(const GrainTree& tree, GrainNode node) {
  return {node.index << node.level, std::min((node.index + 1) << node.level, tree.grains())};
}

/// The definition, top down: halves at the largest power of two below the length.
float by_definition(const std::vector<float>& values, size_t first, size_t end) {
  if (end - first == 1) return values[first];
  size_t half = 1;
  while (2 * half < end - first) half *= 2;
  return by_definition(values, first, first + half) + by_definition(values, first + half, end);
}

std::vector<float> unlike_values(size_t count) {
  std::mt19937 random(count);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(random()) * ((i % 3 == 0) ? 1.0F : 1e-6F) - 1e9F * (i % 2));
  return values;
}

TEST(GrainTrees, CoversAreExactDisjointAndFew) {
  for (uint64_t grains = 1; grains <= 40; ++grains) {
    const GrainTree tree(grains);
    for (uint64_t first = 0; first <= grains; ++first)
      for (uint64_t end = first; end <= grains; ++end) {
        const std::vector<GrainNode> nodes = tree.cover({first, end});
        uint64_t at = first;
        for (const GrainNode& node : nodes) {
          EXPECT_TRUE(tree.has(node));
          EXPECT_EQ(grains_of(tree, node).first, at);
          at = grains_of(tree, node).end;
        }
        EXPECT_EQ(at, end);
        EXPECT_LE(nodes.size(), std::max<uint64_t>(1, 2 * static_cast<uint64_t>(tree.root().level)));
      }
  }
}

TEST(GrainTrees, CoversByHand) {
  const GrainTree tree(11);
  EXPECT_THAT(tree.cover({0, 11}), ElementsAre(GrainNode{4, 0}));
  EXPECT_THAT(tree.cover({3, 7}), ElementsAre(GrainNode{0, 3}, GrainNode{1, 2}, GrainNode{0, 6}));
  EXPECT_THAT(tree.cover({8, 11}), ElementsAre(GrainNode{3, 1}));  // what is right of it has no grains
  EXPECT_THAT(tree.cover({9, 11}), ElementsAre(GrainNode{0, 9}, GrainNode{1, 5}));
  EXPECT_THAT(tree.cover({5, 5}), IsEmpty());
}

TEST(GrainTrees, TreeSumFollowsTheDefinition) {
  for (size_t count = 1; count <= 70; ++count) {
    const std::vector<float> values = unlike_values(count);
    EXPECT_EQ(tree_sum(values), by_definition(values, 0, count)) << count;
  }
  EXPECT_EQ(tree_sum({}), 0.0F);
}

TEST(GrainTrees, TheOrderOfAddsInTheTreeChangesBits) {
  // Else no test of the order could fail.
  const std::vector<float> values = unlike_values(16);
  float in_order = 0;
  for (float value : values) in_order += value;
  EXPECT_NE(tree_sum(values), in_order);
}

TEST(SumsOfTrees, AnyOrderOfArrivalGivesTheSameBits) {
  std::mt19937 random(7);
  FloatPool pool;
  for (uint64_t grains : {1, 2, 3, 5, 8, 11, 37}) {
    const std::vector<float> values = unlike_values(grains);
    for (int round = 0; round < 20; ++round) {
      const GrainTree tree(grains);
      std::vector<uint64_t> order(grains);
      for (uint64_t i = 0; i < grains; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      TreeSums sums(tree, pool);
      for (uint64_t grain : order) ASSERT_TRUE(sums.add(GrainNode{0, grain}, Floats(3, values[grain])).ok());
      const auto all = sums.take();
      ASSERT_EQ(all.size(), 1U);
      EXPECT_EQ(all[0].first, tree.root());
      EXPECT_THAT(all[0].second, ::testing::Each(by_definition(values, 0, grains)));
    }
  }
}

TEST(SumsOfTrees, WhatARangeLeavesIsItsCover) {
  FloatPool pool;
  for (uint64_t grains : {5, 8, 13})
    for (uint64_t first = 0; first < grains; ++first)
      for (uint64_t end = first + 1; end <= grains; ++end) {
        const GrainTree tree(grains);
        TreeSums sums(tree, pool);
        for (uint64_t grain = first; grain < end; ++grain)
          ASSERT_TRUE(sums.add(GrainNode{0, grain}, Floats(1)).ok());
        std::vector<GrainNode> nodes;
        for (const auto& [node, sum] : sums.take()) nodes.push_back(node);
        EXPECT_EQ(nodes, tree.cover({first, end}));
      }
}

TEST(SumsOfTrees, RefusesGrainsTwiceAndNodesThatAreNot) {
  FloatPool pool;
  TreeSums sums(GrainTree(6), pool);
  ASSERT_TRUE(sums.add(GrainNode{0, 4}, Floats(1)).ok());
  EXPECT_EQ(sums.add(GrainNode{0, 4}, Floats(1)).code(), Code::invalid_argument);
  EXPECT_THAT(sums.add(GrainNode{1, 2}, Floats(1)).message(),
              HasSubstr("was already added, completely or in part"));
  EXPECT_THAT(sums.add(GrainNode{0, 6}, Floats(1)).message(), HasSubstr("is not in a tree of 6 grains"));
  ASSERT_TRUE(sums.add(GrainNode{0, 5}, Floats(1)).ok());
  EXPECT_EQ(sums.add(GrainNode{0, 5}, Floats(1)).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace weir::core
