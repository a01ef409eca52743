// SPDX-License-Identifier: Apache-2.0
/// Local steps: the outer optimizer over groups of threads as ranks, and what is refused. Whole runs:
/// matrix_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/local_group.h"

namespace weir::trainer {
namespace {

using ::testing::HasSubstr;
namespace toy = shard::toy;

constexpr int kRanks = 4;

/// The outer parameters of element `element` of unit `unit` after `rounds`, in double.
double expected(const Settings& settings, int groups, int rounds, int unit, size_t element) {
  double outer = toy::initial(unit, element), momentum = 0;
  for (int round = 0; round < rounds; ++round) {
    double mean = 0;
    for (int group = 0; group < groups; ++group) mean -= moved(group, round, element) / groups;
    momentum = settings.outer_momentum * momentum + mean;
    outer -= settings.outer_learning_rate * (mean + settings.outer_momentum * momentum);
  }
  return outer;
}

TEST(LocalSteps, TheOuterStepIsNesterovMomentumOnTheMeanDifference) {
  constexpr int kRounds = 3;
  using shard::Precision;
  for (const Precision reduce : {Precision::float32, Precision::bfloat16, Precision::int8, Precision::float8})
    for (const int shard_ranks : {1, 2, 4}) {
      const Settings settings = local_settings(shard_ranks, reduce);
      std::vector<std::vector<float>> all(kRanks);
      toy::with_ranks(kRanks, [&](int rank, ncclComm_t world) {
        LocalGroup group(world, settings);
        ASSERT_EQ(group.outer->groups(), kRanks / shard_ranks);
        ASSERT_EQ(group.outer->group(), rank / shard_ranks);
        for (int round = 0; round < kRounds; ++round) {
          group.move(round);
          ASSERT_TRUE(group.outer->receive(5 * round + 4).ok());
          group.outer->apply(5 * round + 4);
          EXPECT_EQ(group.outer->take_traffic().bytes > 0, shard_ranks < kRanks);
        }
        const auto whole = toy::whole(*group.engine);
        ASSERT_TRUE(whole.ok()) << whole.status().message();
        all[static_cast<size_t>(rank)] = *whole;
      });
      const double most = reduce == Precision::float32 ? 1e-6 : reduce == Precision::float8 ? 1e-2 : 2e-3;
      for (const std::vector<float>& one : all) ASSERT_EQ(one, all[0]) << "the same bits in all groups";
      size_t at = 0;
      for (int unit = 0; unit < 5; ++unit)
        for (size_t element = 0; element < toy::units()[static_cast<size_t>(unit)].parameters;
             ++element, ++at)
          ASSERT_NEAR(all[0][at], expected(settings, kRanks / shard_ranks, kRounds, unit, element), most)
              << name_of(reduce) << ", groups of " << shard_ranks << ", unit " << unit;
    }
}

TEST(LocalSteps, ExchangedParametersComeBack) {
  toy::with_ranks(2, [](int, ncclComm_t world) {
    LocalGroup group(world, local_settings(1));
    group.move(0);
    const std::vector<float> own = *toy::whole(*group.engine);
    group.outer->swap_parameters();
    EXPECT_EQ((*toy::whole(*group.engine))[7], toy::initial(0, 7));
    EXPECT_NE(own[7], toy::initial(0, 7));
    group.outer->swap_parameters();
    EXPECT_EQ(*toy::whole(*group.engine), own);
  });
}

TEST(LocalSteps, SumsAreThoseOfAllGroups) {
  toy::with_ranks(4, [](int rank, ncclComm_t world) {
    const auto outer = OuterOptimizer::join(world, local_settings(2));
    ASSERT_TRUE(outer.ok()) << outer.status().message();
    // The ranks of a group have the same ones.
    GroupSums sums{10, rank < 2 ? 1U : 0U, rank < 2 ? 1.5 : 2.0, rank < 2 ? 3.0 : 4.0};
    ASSERT_TRUE((*outer)->combine(sums).ok());
    EXPECT_EQ(sums.tokens, 20U);
    EXPECT_EQ(sums.votes, 1U);
    EXPECT_EQ(sums.loss, 3.5);
    EXPECT_NEAR(sums.gradient_norm, std::sqrt(12.5), 1e-12);
  });
}

TEST(LocalSteps, GroupsMeetEverySoManyStepsAndAtTheEnd) {
  toy::with_ranks(1, [](int, ncclComm_t world) {
    Settings settings = local_settings(1);
    settings.steps = 12;
    const auto outer = OuterOptimizer::join(world, settings);
    ASSERT_TRUE(outer.ok()) << outer.status().message();
    std::vector<Index> meetings;
    for (Index step = 0; step < settings.steps; ++step)
      if ((*outer)->meets_after(step)) meetings.push_back(step);
    EXPECT_EQ(meetings, (std::vector<Index>{4, 9, 11}));
  });
}

TEST(LocalSteps, WhatCannotBeIsRefusedWithASentence) {
  const auto refusal = [](auto change) {
    Settings settings = local_settings(1);
    change(settings);
    return check(settings).message();
  };
  EXPECT_EQ(refusal([](Settings&) {}), "");
  EXPECT_THAT(refusal([](Settings& settings) { settings.local_steps = -1; }),
              HasSubstr("--local-steps -1 is negative; expected at least 0"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.outer_learning_rate = 0; }),
              HasSubstr("--outer-learning-rate 0 is invalid; expected a finite number above 0"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.outer_momentum = 1; }),
              HasSubstr("--outer-momentum 1 is invalid; expected at least 0 and less than 1"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.parts.stages = 2; }),
              HasSubstr("--local-steps with --pipeline or --tensor: expected only one"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.canonical = true; }),
              HasSubstr("--local-steps with --deterministic canonical: expected only one"));
  for (const auto strategy : {shard::Strategy::hybrid_shard, shard::Strategy::hpz})
    EXPECT_THAT(refusal([=](Settings& settings) { settings.sharding.strategy = strategy; }),
                HasSubstr("--local-steps with --strategy hybrid or hpz: expected none, gradients or full"));
  toy::with_ranks(4, [](int, ncclComm_t world) {
    Settings settings = local_settings(1);
    settings.batch = 6;
    EXPECT_THAT(OuterOptimizer::join(world, settings).status().message(),
                HasSubstr("--batch 6 with --local-steps: expected a multiple of the 4 groups of ranks"));
    settings.sharding.shard_ranks = 3;
    EXPECT_THAT(OuterOptimizer::join(world, settings).status().message(), HasSubstr("divides the 4 ranks"));
  });
}

}  // namespace
}  // namespace weir::trainer
