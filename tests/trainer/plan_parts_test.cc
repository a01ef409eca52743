// SPDX-License-Identifier: Apache-2.0
// Steps of models that are cut into stages and slices, against closed forms.
#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "plan_machine.h"
#include "trainer/plan/predict.h"

namespace weir::trainer::plan {
namespace {

using ::testing::HasSubstr;

constexpr double kDeviceFlops = 140e12;
constexpr double kPartRounding = 1e-6;

/// Links that take no time.
Cluster fast(int nodes = 4) { return on({nodes, 8, 1e6, 1e6}); }

/// 48 equal units without attention.
Model equal_blocks() {
  Model model{"11B", 4096, 64, 512, 0, false, {}};
  model.units.assign(48, {"block", 11e9 / 48, 11e9 / 48, 0, false});
  return model;
}

Job in(const Parts& parts, int batches, Strategy strategy = Strategy::no_shard) {
  Job job;
  job.strategy = strategy;
  job.micro_batches = batches;
  job.parts = parts;
  return job;
}

/// Seconds of computing of one rank, without bubble.
double computing(const Job& job) {
  return job.micro_batches * 512 * 6 * 11e9 / (job.parts.ranks() * kDeviceFlops);
}

TEST(PlanParts, BubbleShrinksWithMicroBatchesAndParts) {
  for (const int batches : {8, 64})
    for (const int interleave : {1, 4}) {
      const Job job = in({4, 8, interleave}, batches);
      const auto found = predict(equal_blocks(), fast(), job);
      ASSERT_TRUE(found.ok()) << found.status().message();
      EXPECT_NEAR(found->line.seconds / computing(job), 1 + 7.0 / (batches * interleave), 1e-3);
      EXPECT_NEAR(found->line.compute_seconds, computing(job), kPartRounding);
    }
}

TEST(PlanParts, TheMostExpensiveStageSetsThePace) {
  // 48 units in 32 stages: some have two of them.
  const Job job = in({1, 32}, 320);
  const auto found = predict(equal_blocks(), fast(), job);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const double pace = 512 * 6 * 11e9 / kDeviceFlops * 2 / 48;
  EXPECT_NEAR(found->line.seconds / (pace * (320 + 31)), 1, 1e-3);
}

TEST(PlanParts, GradientsAreReducedOnceWithoutShardingAndElseForEachMicroBatch) {
  const Cluster cluster = on({2, 8, 1e6, 40});
  // Groups of two ranks with one part, in different nodes: 8 rings through the NICs.
  const double part = 2 * 11e9 / 8;  // bytes
  const double pass = 8 * part / 2 / 40e9;
  const auto between = [&](Strategy strategy) {
    return predict(equal_blocks(), cluster, in({8, 1}, 4, strategy))->line.between_seconds;
  };
  EXPECT_NEAR(between(Strategy::no_shard), 2 * pass, kPartRounding);
  EXPECT_NEAR(between(Strategy::shard_grad_op), (1 + 4) * pass, kPartRounding);
  EXPECT_NEAR(between(Strategy::full_shard), (8 + 4) * pass, kPartRounding);
  const auto found = predict(equal_blocks(), cluster, in({8, 1}, 4));
  EXPECT_NEAR(found->line.exposed_seconds(), 2 * pass, 1e-3);
}

TEST(PlanParts, SlicesAddUpActivations) {
  Model model = equal_blocks();
  for (Unit& unit : model.units) unit.attentions = 1;
  const Job job = in({8, 1}, 3);
  const auto found = predict(model, on({1, 8, 100, 1}), job);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const double sum = 2 * (7.0 / 8) * 512 * 4096 * 2 / 100e9;
  EXPECT_NEAR(found->line.inside_seconds, 3 * 48 * 4 * sum, kPartRounding);
  EXPECT_NEAR(found->line.exposed_seconds(), 3 * 48 * 4 * sum, kPartRounding);
}

/// Seconds of 1F1B, operation by operation: forward takes a third of `pace`, and what goes from stage to
/// stage takes `boundary`.
double one_forward_one_backward(int stages, int batches, double pace, double boundary) {
  struct Stage {
    int forward = 0, backward = 0;  ///< number of micro-batches that it has computed
    double free = 0;
    std::vector<double> forward_ends, backward_ends;
  };
  std::vector<Stage> all(static_cast<size_t>(stages));
  const auto at = [](int index) { return static_cast<size_t>(index); };
  for (bool more = true; more;) {
    more = false;
    for (int s = 0; s < stages; ++s) {
      Stage& stage = all[at(s)];
      const bool forward =
          stage.forward < batches && stage.forward - stage.backward < std::min(stages - s, batches);
      const std::vector<double>* const before =
          forward ? (s == 0 ? nullptr : &all[at(s - 1)].forward_ends)
                  : (s == stages - 1 ? &stage.forward_ends : &all[at(s + 1)].backward_ends);
      int& number = forward ? stage.forward : stage.backward;
      if (number == batches || (before != nullptr && at(number) >= before->size())) continue;
      const double lag = before == &stage.forward_ends ? 0 : boundary;
      if (before != nullptr) stage.free = std::max(stage.free, (*before)[at(number)] + lag);
      stage.free += pace * (forward ? 1 : 2) / 3;
      (forward ? stage.forward_ends : stage.backward_ends).push_back(stage.free);
      ++number;
      more = true;
    }
  }
  double end = 0;
  for (const Stage& stage : all) end = std::max(end, stage.free);
  return end;
}

TEST(PlanParts, StagesWaitForBoundaries) {
  for (const int stages : {2, 4, 8})
    for (const int batches : {1, 2, 7, 8, 32}) {
      // Each stage in a node of one rank.
      const Job job = in({1, stages}, batches);
      const double pace = computing(job) / batches;
      const double boundary = 512 * 4096 * 2 / 1e9;
      const auto found = predict(equal_blocks(), on({stages, 1, 1, 1}), job);
      ASSERT_TRUE(found.ok()) << found.status().message();
      const double exact = one_forward_one_backward(stages, batches, pace, boundary);
      const double rounding = 1e-5;
      EXPECT_NEAR(found->line.seconds, exact, stages == 2 ? rounding : 0.1 * exact)
          << stages << ' ' << batches;
      EXPECT_LT(found->line.seconds, exact + rounding) << stages << ' ' << batches;
    }
}

TEST(PlanParts, InterleavedStagesCrossBoundariesInTheBubble) {
  const Job job = in({1, 2, 2}, 8);
  const auto found = predict(equal_blocks(), on({2, 1, 1, 1}), job);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const double boundary = 512 * 4096 * 2 / 1e9;
  EXPECT_NEAR(found->line.seconds, computing(job) * (1 + 1.0 / 16) + 2 * boundary, 1e-5);
}

TEST(PlanParts, NobodyLosesTheBubbleWhereRanksShareCores) {
  Cluster cluster = on({1, 8, 1e6, 1e6});
  const Job job = in({1, 8}, 4);
  double last = predict(equal_blocks(), cluster, job)->line.seconds;
  EXPECT_NEAR(last / computing(job), 1 + 7.0 / 4, 1e-3);
  for (const double alone : {1.5, 2.0, 8.0, 100.0}) {
    cluster.alone = alone;
    const double seconds = predict(equal_blocks(), cluster, job)->line.seconds;
    EXPECT_NEAR(seconds / computing(job), std::max((1 + 7.0 / 4) / alone, 1.0), 1e-3);
    EXPECT_LE(seconds, last);
    last = seconds;
  }
  // Other hosts do not share their cores.
  Cluster hosts = fast();
  hosts.alone = 8;
  EXPECT_NEAR(predict(equal_blocks(), hosts, job)->line.seconds / computing(job), 1 + 7.0 / 4, 1e-3);
}

TEST(PlanParts, BoundariesWaitForACoreOfTheSender) {
  Cluster cluster = on({2, 1, 1, 1});
  const Job job = in({1, 2}, 8);
  const double before = predict(equal_blocks(), cluster, job)->line.seconds;
  cluster.contention.wake = 3e-3;
  // Of two stages the first waits for a boundary once for every micro-batch.
  EXPECT_NEAR(predict(equal_blocks(), cluster, job)->line.seconds - before, 8 * 3e-3, 1e-9);
}

TEST(PlanParts, EverySliceComputesWholeUnits) {
  Model model = equal_blocks();
  const Job job = in({8, 1}, 1);
  const double before = predict(model, fast(), job)->line.compute_seconds;
  model.units.back().whole = true;
  const double unit = 512 * 6 * 11e9 / 48 / kDeviceFlops;
  EXPECT_NEAR(predict(model, fast(), job)->line.compute_seconds - before, unit * 7 / 8, kPartRounding);
}

TEST(PlanParts, MemoryIsSharedByParts) {
  const Model model = equal_blocks();
  const Cluster cluster = fast();
  const Groups all{Strategy::no_shard, 32, 1};
  const auto memory = [&](const Parts& parts, Strategy strategy) {
    return predict(model, cluster, in(parts, 16, strategy))->memory;
  };
  EXPECT_NEAR(memory({4, 8}, Strategy::no_shard).states, state_bytes(model, cluster, all) / 32, 100);
  EXPECT_EQ(memory({4, 8}, Strategy::no_shard).in_flight, 0);
  EXPECT_NEAR(memory({4, 4}, Strategy::full_shard).states, state_bytes(model, cluster, all) / 32, 100);
  // All of a part, and the gradients of a unit.
  EXPECT_NEAR(memory({4, 4}, Strategy::shard_grad_op).in_flight, 2 * 11e9 / 16 + 2 * 11e9 / 48 / 4, 100);
  EXPECT_LT(memory({4, 4}, Strategy::full_shard).in_flight,
            memory({4, 4}, Strategy::shard_grad_op).in_flight);
}

TEST(PlanParts, RefusesPartsThatCannotBe) {
  const auto refused = [](const Job& job) {
    return predict(equal_blocks(), fast(8), job).status().message();
  };
  EXPECT_THAT(refused(in({3, 8}, 1)), HasSubstr("8 stages of 3 GPUs do not divide 8 nodes of 8 GPUs"));
  EXPECT_THAT(refused(in({1, 64}, 1)), HasSubstr("64 stages of 11B, which has 48 units"));
  EXPECT_THAT(refused(in({2, 2}, 1, Strategy::hpz)), HasSubstr("HPZ with stages or tensor parallelism"));
}

}  // namespace
}  // namespace weir::trainer::plan
