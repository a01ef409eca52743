// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "trainer/plan/pipeline.h"
#include "trainer/plan/predict.h"

namespace weir::trainer::plan {
namespace {

using ::testing::HasSubstr;

constexpr double kFlops = 140e12;
constexpr double kRate = 4.15e9;

Cluster ethernet_without_latency(double nodes = 32) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus = 8;
  cluster.memory = 80e9;
  cluster.peak = 312e12;
  cluster.compute = kFlops;
  cluster.inside = 235e9;
  cluster.nic = kRate;
  return cluster;
}

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
  const auto found = predict(eleven_billion(), ethernet_without_latency(), full_shard(50));
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(found->hiding_tokens / (closed * 255 / 256 * 143 / 144), 1, 1e-9);
}

TEST(PlanPredict, SmallBatchesAreBoundByLinks) {
  const auto found = predict(eleven_billion(), ethernet_without_latency(), full_shard(20));
  ASSERT_TRUE(found.ok());
  // 20 of the 49 sequences that would hide it.
  EXPECT_NEAR(found->line.compute_seconds / found->line.seconds, 20 * 512 / 25300.0, 0.01);
}

TEST(PlanPredict, CountsFlopsWithAndWithoutRecomputation) {
  const Model model = decoder({"m", 3, 512, 8, 256, 1000, true, false});
  Cluster one = ethernet_without_latency(1);
  one.gpus = 1;
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
  Cluster cluster = ethernet_without_latency();
  cluster.half_width = 4096;
  EXPECT_DOUBLE_EQ(cluster.achieved(4096), kFlops / 2);
  EXPECT_DOUBLE_EQ(cluster.achieved(3 * 4096), kFlops * 3 / 4);
}

TEST(PlanPredict, MicroBatchesAddUp) {
  Cluster fast = ethernet_without_latency();
  fast.nic = 400e9;
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
  Cluster cluster = ethernet_without_latency();
  cluster.inside = 1e15;
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
  Cluster cluster = ethernet_without_latency();
  for (const Strategy strategy :
       {Strategy::no_shard, Strategy::shard_grad_op, Strategy::full_shard, Strategy::hybrid_shard}) {
    Job job = full_shard(20);
    job.strategy = strategy;
    job.shard = 8;
    double last = 0;
    for (double rate = 100e9; rate > 1e9; rate /= 2) {
      cluster.nic = rate;
      const double seconds = predict(eleven_billion(), cluster, job)->line.seconds;
      EXPECT_GE(seconds, last);
      last = seconds;
    }
    for (double latency = 1e-6; latency < 1e-3; latency *= 2) {
      cluster.latency = latency;
      const double seconds = predict(eleven_billion(), cluster, job)->line.seconds;
      EXPECT_GE(seconds, last);
      last = seconds;
    }
    cluster.latency = 0;
  }
}

TEST(PlanPredict, RefusesJobsThatCannotBe) {
  const auto refused = [](const Job& job) {
    return predict(eleven_billion(), ethernet_without_latency(), job).status().message();
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
  EXPECT_THAT(predict(Model{"none", 1, 1, 1, 1, false, {}}, ethernet_without_latency(), full_shard(1))
                  .status()
                  .message(),
              HasSubstr("none has no units"));
}

TEST(PlanPipeline, BubbleShrinksWithMicroBatchesAndParts) {
  Cluster cluster = ethernet_without_latency();
  cluster.nic = 1e18;
  Job job = full_shard(1);
  job.recompute = Recompute::none;
  for (const int batches : {8, 64})
    for (const int interleave : {1, 4}) {
      job.micro_batches = batches;
      const auto found = predict_pipeline(eleven_billion(), cluster, {4, 8, interleave}, job);
      ASSERT_TRUE(found.ok());
      const double computing = batches * 512 * 6 * 11e9 / (32 * kFlops);
      EXPECT_NEAR(found->line.seconds / computing, 1 + 7.0 / (batches * interleave), 1e-6);
    }
}

TEST(PlanPipeline, ReductionsOfOnePartAreExposed) {
  // One replica per node and share: 8 rings through the NICs. Gathers and reductions wait for no other part.
  Cluster cluster = ethernet_without_latency(2);
  cluster.nic = 40e9;
  Job job = full_shard(1);
  job.recompute = Recompute::none;
  job.micro_batches = 4;
  const auto found = predict_pipeline(eleven_billion(), cluster, {8, 1, 1}, job);
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(found->line.between_seconds, 2 * 2 * 11e9 / 2 / 40e9, 1e-9);
  EXPECT_NEAR(found->line.exposed_seconds(), found->line.between_seconds, 1e-9);
}

TEST(PlanPipeline, RefusesStagesThatDoNotDivide) {
  EXPECT_THAT(predict_pipeline(eleven_billion(), ethernet_without_latency(), {3, 8, 1}, full_shard(1))
                  .status()
                  .message(),
              HasSubstr("8 stages of 3 GPUs do not divide 32 nodes of 8 GPUs"));
}

}  // namespace
}  // namespace weir::trainer::plan
