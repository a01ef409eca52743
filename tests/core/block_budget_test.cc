// SPDX-License-Identifier: Apache-2.0
#include "src/core/gpu/block_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::core {
namespace {

constexpr uint32_t kCapacity = 132;  // of an H100, with one block per multiprocessor

TEST(BlockBudget, SharesOfAllCommunicatorsFit) {
  BlockBudget budget;
  std::vector<BlockBudget::Share> shares;
  uint32_t sum = 0, before = kCapacity;
  for (uint64_t uid = 1; uid <= 40; ++uid) {
    shares.push_back(budget.take({.uid = uid, .capacity = kCapacity}));
    const uint32_t blocks = shares.back().blocks();
    EXPECT_LE(blocks, before) << "later ones get less";
    EXPECT_TRUE(blocks == 0 || blocks >= BlockBudget::kLeast);
    before = blocks;
    sum += blocks;
  }
  EXPECT_LE(sum, kCapacity);
  EXPECT_GE(sum + BlockBudget::kLeast, kCapacity) << "what is left is too little for anybody";
  EXPECT_EQ(shares.front().blocks(), kCapacity / 4);
  EXPECT_GE(shares[9].blocks(), BlockBudget::kLeast) << "ten communicators are not too many";
  EXPECT_EQ(budget.take({.uid = 99, .gpu = 1, .capacity = kCapacity}).blocks(), kCapacity / 4)
      << "another GPU has blocks of its own";
}

TEST(BlockBudget, RanksOfACommunicatorGetTheSame) {
  BlockBudget budget;
  const BlockBudget::Claim claim{.uid = 1, .capacity = kCapacity, .ranks = 4, .alone = true};
  const BlockBudget::Share first = budget.take(claim);
  const BlockBudget::Share other = budget.take({.uid = 2, .capacity = kCapacity});
  const BlockBudget::Share second = budget.take(claim);
  EXPECT_EQ(first.blocks(), kCapacity / 2 / 4);
  EXPECT_EQ(second.blocks(), first.blocks());
  EXPECT_EQ(other.blocks(), (kCapacity - 4 * first.blocks()) / 4);
}

TEST(BlockBudget, LimitsCountAsFarAsThereAreSoMany) {
  BlockBudget budget;
  EXPECT_EQ(budget.take({.uid = 1, .capacity = kCapacity, .most = 5}).blocks(), 5u);
  EXPECT_EQ(budget.take({.uid = 2, .capacity = kCapacity, .least = 60}).blocks(), 60u);
  EXPECT_EQ(budget.take({.uid = 3, .capacity = kCapacity, .most = 1}).blocks(), BlockBudget::kLeast);
  EXPECT_EQ(budget.take({.uid = 4, .capacity = kCapacity, .least = 60, .most = 7}).blocks(), 7u);
  EXPECT_EQ(budget.take({.uid = 5, .capacity = 40, .least = 60}).blocks(), 40u);
  EXPECT_EQ(budget.take({.uid = 6, .capacity = 1000}).blocks(), BlockBudget::kMost);
}

TEST(BlockBudget, WhatIsGivenBackIsThereAgain) {
  BlockBudget budget;
  const BlockBudget::Claim claim{.uid = 1, .capacity = kCapacity, .ranks = 2, .alone = true};
  const auto left = [&](uint64_t uid) {
    return budget.take({.uid = uid, .capacity = kCapacity, .least = BlockBudget::kMost}).blocks();
  };
  BlockBudget::Share first = budget.take(claim), second = budget.take(claim);
  EXPECT_EQ(first.blocks(), 33u);
  EXPECT_EQ(budget.take({.uid = 2, .capacity = 66}).blocks(), 0u);
  first.keep(10);
  second.keep(10);
  EXPECT_EQ(second.blocks(), 10u);
  EXPECT_EQ(budget.take({.uid = 3, .capacity = 66}).blocks(), (66u - 20u) / 4);
  first.give_back();
  EXPECT_EQ(first.blocks(), 0u);
  EXPECT_EQ(budget.take({.uid = 4, .capacity = 66}).blocks(), (66u - 20u) / 4) << "the other rank goes on";
  second = BlockBudget::Share();
  EXPECT_EQ(left(5), BlockBudget::kMost);
  EXPECT_EQ(budget.take({.uid = 6, .capacity = 66}).blocks(), 66u / 4);
}

}  // namespace
}  // namespace weir::core
