// SPDX-License-Identifier: Apache-2.0

#include "transports/credit_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

namespace weir::testing {
namespace {

constexpr uint64_t kBudget = 64 << 10;
constexpr uint64_t kMessage = 256 << 10;

/// Senders that use what they are told at once, and a network that delivers it piece by piece.
struct Senders {
  explicit Senders(CreditBudget& budget, size_t count)
      : told(count, CreditBudget::kLeast), arrived(count, 0) {
    for (size_t i = 0; i < count; ++i) accounts.push_back(budget.open(i + 1));
  }
  void serve(size_t i, uint64_t announced, int64_t now = 1) {
    told[i] = accounts[i]->limit(announced, arrived[i], told[i], now);
  }
  void serve_all(uint64_t announced, int64_t now = 1) {
    for (size_t i = 0; i < accounts.size(); ++i) serve(i, announced, now);
  }
  /// Of what was announced.
  uint64_t under_way(uint64_t announced) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < told.size(); ++i) sum += std::min(told[i], announced) - arrived[i];
    return sum;
  }

  std::vector<std::unique_ptr<CreditBudget::Account>> accounts;
  std::vector<uint64_t> told;
  std::vector<uint64_t> arrived;
};

class Incast : public ::testing::TestWithParam<size_t> {};

TEST_P(Incast, KeepsToTheBudgetAndServesAllAlike) {
  CreditBudget budget(kBudget);
  Senders senders(budget, GetParam());
  senders.serve_all(0);
  uint64_t most = 0;
  while (std::accumulate(senders.arrived.begin(), senders.arrived.end(), uint64_t{0}) <
         GetParam() * kMessage) {
    for (int turn = 0; turn < 3; ++turn) senders.serve_all(kMessage);
    most = std::max(most, senders.under_way(kMessage));
    ASSERT_GT(senders.under_way(kMessage), 0u) << "nobody may send";
    const auto [least, furthest] = std::minmax_element(senders.arrived.begin(), senders.arrived.end());
    ASSERT_LE(*furthest - *least, kBudget + CreditBudget::kChunk + CreditBudget::kWorthTelling);
    for (size_t i = 0; i < GetParam(); ++i)
      senders.arrived[i] +=
          std::min<uint64_t>(1448, std::min(senders.told[i], kMessage) - senders.arrived[i]);
  }
  EXPECT_LE(most, kBudget * 3 / 2) << "all that is shared to the first, and the standing credit of all";
  EXPECT_GE(most, kBudget / 2);
}

INSTANTIATE_TEST_SUITE_P(CreditBudget, Incast, ::testing::Values(1, 2, 8, 16, 32));

TEST(CreditBudget, StandingCreditNeedsNoAsking) {
  CreditBudget budget(kBudget);
  Senders senders(budget, 4);
  senders.serve_all(0);
  for (const uint64_t told : senders.told) EXPECT_EQ(told, kBudget / 2 / 4);
}

TEST(CreditBudget, WhoAsksAloneMayHaveAll) {
  CreditBudget budget(kBudget);
  Senders senders(budget, 16);
  senders.serve_all(0);
  senders.serve(3, kMessage);
  EXPECT_GT(senders.told[3], kBudget * 3 / 4);
  EXPECT_LE(senders.told[3], kBudget + kBudget / 2 / 16);
}

TEST(CreditBudget, WhoSendsAloneForLongIsNotHeldUpUntilAnotherAsks) {
  CreditBudget budget(kBudget);
  Senders senders(budget, 2);
  senders.serve_all(0);
  constexpr uint64_t kLong = 64 << 20;
  while (senders.arrived[0] < CreditBudget::kTrusted) {
    EXPECT_LE(senders.told[0], senders.arrived[0] + kBudget * 5 / 4);
    senders.arrived[0] = senders.told[0];
    senders.serve(0, kLong);
  }
  EXPECT_GE(senders.told[0], senders.arrived[0] + CreditBudget::kOpen);
  senders.serve(1, kMessage);  // at once, though the other has much under way
  EXPECT_GE(senders.told[1], kBudget / 4 + CreditBudget::kChunk);
  senders.arrived[0] += 1448;
  senders.serve(0, senders.arrived[0] + kBudget);
  EXPECT_LE(senders.told[0], senders.arrived[0] + kBudget);
}

TEST(CreditBudget, NothingIsGrantedThatWasNotAnnounced) {
  CreditBudget budget(kBudget);
  Senders senders(budget, 16);
  senders.serve_all(0);
  senders.serve(0, 10'000);
  EXPECT_EQ(senders.told[0], 10'000u);
}

TEST(CreditBudget, ForgetsWhatASilentSenderHolds) {
  CreditBudget budget(kBudget);
  Senders senders(budget, 2);
  senders.serve_all(0);
  senders.serve(0, kMessage, 1);
  const uint64_t before = senders.told[1];
  senders.serve(1, kMessage, 2);
  EXPECT_EQ(senders.told[1], before) << "the other has all that is shared";
  senders.serve(1, kMessage, 2 + CreditBudget::kForgottenNs);
  EXPECT_GT(senders.told[1], before);
}

/// Else it would wait for ever, if what it was given but not told of is forgotten.
TEST(CreditBudget, WhoIsHeldUpForLongIsToldOfAnything) {
  CreditBudget budget(kBudget);
  Senders senders(budget, 16);
  senders.serve_all(0);
  const uint64_t before = senders.told[0];
  senders.serve(1, kMessage, 1);  // has all
  senders.serve(0, before + 1000, 1);
  EXPECT_EQ(senders.told[0], before);
  senders.arrived[1] = senders.told[1] - 20'000;
  senders.serve(1, kMessage, 1);  // leaves the other what it wants, and takes the rest
  senders.serve(0, kMessage, 1);
  EXPECT_EQ(senders.told[0], before) << "not worth a message while there may be more";
  senders.serve(0, kMessage, 10'000'000);
  EXPECT_EQ(senders.told[0], before + 1000);
}

TEST(CreditBudget, WhatAClosedChannelHeldIsFree) {
  CreditBudget budget(kBudget);
  Senders senders(budget, 2);
  senders.serve_all(0);
  senders.serve(0, kMessage, 1);
  senders.accounts[0].reset();
  senders.serve(1, kMessage, 2);
  EXPECT_GT(senders.told[1], kBudget / 2);
}

TEST(CreditBudget, LateChannelsTakeFromThoseThatWereThere) {
  CreditBudget budget(kBudget);
  Senders senders(budget, 1);
  senders.serve(0, 0);
  EXPECT_EQ(senders.told[0], kBudget / 2);
  const Senders others(budget, 7);
  senders.arrived[0] = 100;
  senders.serve(0, 100);
  EXPECT_EQ(senders.told[0], 100 + kBudget / 2 / 8);
}

TEST(CreditBudget, EvenAByteLetsEverybodyThrough) {
  CreditBudget budget(1);
  Senders senders(budget, 3);
  for (int turn = 0; turn < 1000; ++turn) {
    senders.serve_all(kMessage);
    for (size_t i = 0; i < 3; ++i) senders.arrived[i] = std::min(senders.told[i], kMessage);
  }
  for (const uint64_t arrived : senders.arrived) EXPECT_EQ(arrived, kMessage);
}

TEST(CreditBudget, ZeroIsNoLimit) {
  CreditBudget budget(0);
  Senders senders(budget, 2);
  senders.serve_all(0);
  EXPECT_GT(senders.told[0], uint64_t{1} << 60);
  budget.set_bytes(kBudget);
  senders.arrived[0] = 1;
  senders.serve(0, 1);
  EXPECT_EQ(senders.told[0], 1 + kBudget / 4);
}

}  // namespace
}  // namespace weir::testing
