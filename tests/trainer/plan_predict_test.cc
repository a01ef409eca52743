// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "plan_machine.h"
#include "trainer/plan/predict.h"

namespace weir::trainer::plan {
namespace {

using ::testing::HasSubstr;

constexpr double kFlops = 140e12;
constexpr double kRate = 4.15e9;

Machine slow_ethernet(int nodes = 32) { return {nodes, 8, 235, kRate / 1e9}; }

/// 48 equal units without attention.
Model eleven_billion() {
  Model model{"11B", 4096, 64, 512, 0, false, {}};
  model.units.assign(48, {"block", 11e9 / 48, 11e9 / 48, 0, false});
  return model;
}

Job full_shard(int batch) {
  Job job;
  job.micro_batch = batch;
  job.recompute = Recompute::full;
  return job;
}

TEST(PlanPredict, TokensThatHideFullShard) {
  // tokens = 3 b F / (k R), k = 8 with full recomputation; of 3 x 48 passes one gather is spared.
  const double closed = 3 * 2 * kFlops / (8 * kRate);
  EXPECT_NEAR(closed, 25300, 50);
  const auto found = predict(eleven_billion(), on(slow_ethernet()), full_shard(50));
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(found->hiding_tokens / (closed * 255 / 256 * 143 / 144), 1, 1e-9);
}

TEST(PlanPredict, SmallBatchesAreBoundByLinks) {
  const auto found = predict(eleven_billion(), on(slow_ethernet()), full_shard(20));
  ASSERT_TRUE(found.ok());
  // 20 of the 49 sequences that would hide it.
  EXPECT_NEAR(found->line.compute_seconds / found->line.seconds, 20 * 512 / 25300.0, 0.01);
}

TEST(PlanPredict, CountsFlopsWithAndWithoutRecomputation) {
  const Model model = decoder({"m", 3, 512, 8, 256, 1000, true, false});
  const Cluster one = on({1, 1});
  Job job;
  job.micro_batch = 5;
  const double tokens = 5 * 256;
  const double products = 3 * 12.0 * 512 * 512 + 1000 * 512;
  const double attention = 3 * 4.0 * 256 * 512;  // forward, per token
  const auto seconds = [&](Recompute recompute) {
    job.recompute = recompute;
    return predict(model, one, job)->line.seconds;
  };
  EXPECT_NEAR(seconds(Recompute::none), tokens * (6 * products + 3 * attention) / kFlops, 1e-12);
  EXPECT_NEAR(seconds(Recompute::selective), tokens * (6 * products + 4 * attention) / kFlops, 1e-12);
  EXPECT_NEAR(seconds(Recompute::full), tokens * (8 * products + 4 * attention) / kFlops, 1e-12);
  EXPECT_NEAR(predict(model, one, job)->mfu, 140.0 / 312 * 3 / 4, 1e-9);
}

TEST(PlanPredict, NarrowModelsComputeSlower) {
  Cluster cluster = on(slow_ethernet());
  cluster.half_width = 4096;
  EXPECT_DOUBLE_EQ(cluster.achieved(4096, 1), kFlops / 2);
  EXPECT_DOUBLE_EQ(cluster.achieved(3 * 4096, 1), kFlops * 3 / 4);
}

TEST(PlanPredict, EachMicroBatchTakesAsLongAsMoreTokens) {
  Cluster cluster = on({1, 1});
  cluster.half_rows = 1024;
  EXPECT_DOUBLE_EQ(cluster.achieved(4096, 1024), kFlops / 2);
  EXPECT_DOUBLE_EQ(cluster.achieved(4096, 3 * 1024), kFlops * 3 / 4);
  const auto seconds = [&](int batches, int size) {
    Job job = full_shard(size);
    job.micro_batches = batches;
    return predict(eleven_billion(), cluster, job)->line.compute_seconds;
  };
  // 1,024 rows are two sequences.
  EXPECT_NEAR(seconds(1, 4) / seconds(1, 1), (4.0 + 2) / (1 + 2), 1e-9);
  EXPECT_NEAR(seconds(4, 1) / seconds(1, 4), 4 * (1.0 + 2) / (4 + 2), 1e-9);
}

TEST(PlanPredict, MicroBatchesAddUp) {
  const Cluster fast = on({8, 8, 400, 400});
  Job job = full_shard(50);
  const auto one = predict(eleven_billion(), fast, job);
  ASSERT_TRUE(one.ok());
  for (const int count : {2, 3, 4, 17}) {
    job.micro_batches = count;
    const auto many = predict(eleven_billion(), fast, job);
    ASSERT_TRUE(many.ok());
    // Of each micro-batch the first gather and the last reduction are exposed.
    EXPECT_NEAR(many->line.seconds, count * one->line.seconds, 1e-9);
    EXPECT_NEAR(many->line.between_seconds, count * one->line.between_seconds, 1e-9);
  }
}

TEST(PlanPredict, BytesOfTheStrategies) {
  const Cluster cluster = on({32, 8, 1e6, kRate / 1e9});
  const double parameters = eleven_billion().parameters();
  const auto busy = [&](Strategy strategy, int shard, int batches) {
    Job job = full_shard(50);
    job.strategy = strategy;
    job.shard = shard;
    job.micro_batches = batches;
    return predict(eleven_billion(), cluster, job)->line.between_seconds * kRate / (2 * parameters);
  };
  EXPECT_NEAR(busy(Strategy::full_shard, 0, 1), 255.0 / 256 * 143 / 48, 1e-9);
  EXPECT_NEAR(busy(Strategy::shard_grad_op, 0, 1), 2 * 255.0 / 256, 1e-9);
  EXPECT_NEAR(busy(Strategy::hybrid_shard, 8, 1), 2 * 31.0 / 32, 1e-9);
  EXPECT_NEAR(busy(Strategy::no_shard, 0, 1), 2 * 255.0 / 256, 1e-9);
  EXPECT_NEAR(busy(Strategy::no_shard, 0, 3), 2 * 255.0 / 256, 1e-9);
  EXPECT_NEAR(busy(Strategy::hybrid_shard, 8, 3), 3 * 2 * 31.0 / 32, 1e-9);
}

TEST(PlanPredict, SlowerLinksAreNeverQuicker) {
  std::vector<Cluster> slower, later;
  for (double rate = 100; rate > 1; rate /= 2) slower.push_back(on({4, 8, 235, rate}));
  for (double latency = 1; latency < 1000; latency *= 4) later.push_back(on({4, 8, 235, 4, 0, latency}));
  for (const Strategy strategy : {Strategy::no_shard, Strategy::shard_grad_op, Strategy::full_shard,
                                  Strategy::hybrid_shard, Strategy::hpz}) {
    Job job = full_shard(20);
    job.strategy = strategy;
    job.shard = 8;
    for (const auto& clusters : {slower, later}) {
      double last = 0;
      for (const Cluster& cluster : clusters) {
        const double seconds = predict(eleven_billion(), cluster, job)->line.seconds;
        EXPECT_GE(seconds, last);
        last = seconds;
      }
    }
  }
}

TEST(PlanPredict, LaterGathersOfHpzStayInside) {
  const Cluster cluster = on({4, 8, 1e6, kRate / 1e9});
  const double parameters = eleven_billion().parameters();
  Job job = full_shard(50);
  job.strategy = Strategy::hpz;
  job.shard = 8;
  for (const int batches : {1, 3, 5}) {
    job.micro_batches = batches;
    const double between = predict(eleven_billion(), cluster, job)->line.between_seconds;
    // Of a step one gather of each unit, and a reduction per micro-batch.
    EXPECT_NEAR(between, (1 + batches) * 2 * parameters * 31 / 32 / kRate, 1e-6);
  }
  const Job full = full_shard(50);
  const double copies = 2 * parameters / 8;
  EXPECT_NEAR(predict(eleven_billion(), cluster, job)->memory.states -
                  predict(eleven_billion(), cluster, full)->memory.states,
              copies, 1);
}

TEST(PlanPredict, RefusesJobsThatCannotBe) {
  const auto refused = [](const Job& job) {
    return predict(eleven_billion(), on(slow_ethernet(2)), job).status().message();
  };
  Job job = full_shard(0);
  EXPECT_THAT(refused(job), HasSubstr("1 micro-batches of 0 sequences"));
  job = full_shard(1);
  job.limiter.kind = Limiter::Kind::block;
  EXPECT_THAT(refused(job), HasSubstr("at least one gather"));
  job = full_shard(1);
  job.strategy = Strategy::hybrid_shard;
  job.shard = 7;
  EXPECT_THAT(refused(job), HasSubstr("a shard group of 7 ranks"));
  EXPECT_THAT(
      predict(Model{"none", 1, 1, 1, 1, false, {}}, on(slow_ethernet()), full_shard(1)).status().message(),
      HasSubstr("none has no units"));
}

}  // namespace
}  // namespace weir::trainer::plan
