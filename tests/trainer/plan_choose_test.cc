// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <cstdio>

#include "plan_machine.h"
#include "trainer/plan/choose.h"

namespace weir::trainer::plan {
namespace {

using ::testing::HasSubstr;

Cluster ethernet(int nodes = 8) { return on({nodes, 8, 235, 4, 0, 60}); }

Model gpt(double layers, double width) {
  return decoder({"gpt", layers, width, width / 64, 512, 32000, false, true});
}

PlanConstraints batches_of(int sequences) {
  PlanConstraints constraints;
  constraints.batch = sequences;
  constraints.parts = Parts{};  // the whole model
  return constraints;
}

const StrategyResult* find(const Ranking& ranking, Strategy strategy, int shard) {
  for (const StrategyResult& result : ranking.results)
    if (result.strategy == strategy && result.shard == shard) return &result;
  return nullptr;
}

TEST(PlanChoose, NothingThatFitsIsMuchQuicker) {
  const Model model = gpt(24, 2048);
  const Cluster cluster = ethernet();
  const auto ranking = choose(model, cluster, batches_of(24));
  ASSERT_TRUE(ranking.ok()) << ranking.status().message();
  const double ours = ranking->first().best->prediction.tokens_per_second;
  int fitting = 0;
  for (const Strategy strategy : {Strategy::no_shard, Strategy::shard_grad_op, Strategy::full_shard,
                                  Strategy::hybrid_shard, Strategy::hpz})
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
      for (const int batches : {1, 2, 3, 4, 6, 8, 12, 24})
        for (const int prefetch : {0, 1, 2, 3, 4}) {
          const Job job{strategy, 8, 24 / batches, batches, recompute, prefetch, {}, 1};
          const auto other = predict(model, cluster, job);
          ASSERT_TRUE(other.ok());
          if (!check_memory(cluster, other->memory).ok()) continue;
          ++fitting;
          EXPECT_LE(other->tokens_per_second, ours * 1.02) << name(strategy) << " " << batches;
        }
  EXPECT_GT(fitting, 100);
}

TEST(PlanChoose, WhatIsChosenFits) {
  for (const int batch : {0, 1, 7, 48}) {
    const auto ranking = choose(gpt(32, 4096), ethernet(), batches_of(batch));
    ASSERT_TRUE(ranking.ok());
    for (const StrategyResult& result : ranking->results) {
      if (!result.best) {
        EXPECT_THAT(result.refused, HasSubstr("GB per GPU"));
        continue;
      }
      EXPECT_TRUE(check_memory(ethernet(), result.best->prediction.memory).ok());
      if (batch > 0) {
        EXPECT_GE(result.best->job.micro_batch * result.best->job.micro_batches, batch);
      }
    }
  }
}

TEST(PlanChoose, SlowNetworksShardInsideNodes) {
  const auto ranking = choose(gpt(48, 4096), ethernet(32), batches_of(48));
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(ranking->first().strategy, Strategy::hybrid_shard);
  EXPECT_EQ(ranking->first().shard, 8);
  EXPECT_LT(find(*ranking, Strategy::full_shard, 0)->best->prediction.tokens_per_second,
            ranking->first().best->prediction.tokens_per_second);
}

TEST(PlanChoose, LargeModelsAreShardedOverAll) {
  Cluster cluster = ethernet();
  cluster.memory = 24e9;
  const auto ranking = choose(gpt(96, 6144), cluster, batches_of(8));
  ASSERT_TRUE(ranking.ok()) << ranking.status().message();
  EXPECT_EQ(ranking->first().strategy, Strategy::full_shard);
  EXPECT_FALSE(find(*ranking, Strategy::no_shard, 0)->best.has_value());
  EXPECT_FALSE(find(*ranking, Strategy::hybrid_shard, 8)->best.has_value());
}

TEST(PlanChoose, MoreMemoryIsNeverSlower) {
  Cluster cluster = ethernet();
  double last = 0;
  for (double memory = 16e9; memory < 200e9; memory *= 1.5) {
    cluster.memory = memory;
    const auto ranking = choose(gpt(32, 4096), cluster, batches_of(16));
    ASSERT_TRUE(ranking.ok()) << ranking.status().message();
    const double rate = ranking->first().best->prediction.tokens_per_second;
    EXPECT_GE(rate * 1.005, last) << memory;
    last = rate;
  }
}

TEST(PlanChoose, LittleMemoryRecomputes) {
  // One sequence needs 7.6 GB without recomputation and cannot be divided.
  const Model model = decoder({"long", 24, 2048, 32, 4096, 32000, false, true});
  Cluster cluster = ethernet();
  const auto roomy = choose(model, cluster, batches_of(1));
  cluster.memory = 6e9;
  const auto narrow = choose(model, cluster, batches_of(1));
  ASSERT_TRUE(narrow.ok() && roomy.ok());
  EXPECT_NE(narrow->first().best->job.recompute, Recompute::none);
  EXPECT_LE(narrow->first().best->prediction.tokens_per_second,
            roomy->first().best->prediction.tokens_per_second);
}

TEST(PlanChoose, SaysWhatTheLeastWouldNeed) {
  Cluster cluster = ethernet();
  cluster.memory = 2e9;
  const auto ranking = choose(gpt(96, 6144), cluster, batches_of(8));
  ASSERT_FALSE(ranking.ok());
  EXPECT_THAT(ranking.status().message(),
              HasSubstr("gpt does not fit into the memory of 8 nodes of 8 GPUs: the smallest plan needs"));
  EXPECT_THAT(ranking.status().message(), HasSubstr("expected at most 2.0 GB"));
}

TEST(PlanChoose, OneGpuHasNothingToShare) {
  const auto ranking = choose(gpt(4, 256), on({1, 1}), batches_of(8));
  ASSERT_TRUE(ranking.ok()) << ranking.status().message();
  EXPECT_EQ(ranking->first().best->prediction.line.exposed_seconds(), 0);
  EXPECT_EQ(find(*ranking, Strategy::hybrid_shard, 1), nullptr);
}

TEST(PlanChoose, WhatWasWishedStays) {
  PlanConstraints constraints = batches_of(24);
  constraints.strategy = Strategy::hybrid_shard;
  constraints.shard = 16;
  constraints.micro_batch = 5;
  constraints.recompute = Recompute::selective;
  constraints.prefetch = 3;
  constraints.limiter = Limiter{Limiter::Kind::block, 7, 0};
  const auto ranking = choose(gpt(24, 2048), ethernet(), constraints);
  ASSERT_TRUE(ranking.ok()) << ranking.status().message();
  ASSERT_EQ(ranking->results.size(), 1u);
  EXPECT_EQ(ranking->tried, 1u);
  const Job& job = ranking->first().best->job;
  EXPECT_EQ(job.strategy, Strategy::hybrid_shard);
  EXPECT_EQ(job.shard, 16);
  EXPECT_EQ(job.micro_batch, 5);
  EXPECT_EQ(job.micro_batches, 5);
  EXPECT_EQ(job.recompute, Recompute::selective);
  EXPECT_EQ(job.prefetch, 3);
  EXPECT_EQ(job.limiter.kind, Limiter::Kind::block);
  EXPECT_EQ(job.limiter.gathers, 7);
}

TEST(PlanChoose, MemoryIsTheCallersWhereItKnowsBetter) {
  PlanConstraints constraints = batches_of(24);
  const auto estimated = choose(gpt(24, 2048), ethernet(), constraints);
  constraints.memory = [](const Job& job) { return Memory{1e9, 0, job.micro_batch * 20e9}; };
  const auto told = choose(gpt(24, 2048), ethernet(), constraints);
  ASSERT_TRUE(told.ok() && estimated.ok());
  EXPECT_GT(estimated->first().best->job.micro_batch, 3);
  EXPECT_LE(told->first().best->job.micro_batch, 3);
  EXPECT_EQ(told->first().best->prediction.memory.states, 1e9);
  constraints.memory = [](const Job&) { return Memory{100e9, 0, 0}; };
  EXPECT_FALSE(choose(gpt(24, 2048), ethernet(), constraints).ok());
}

TEST(PlanChoose, RefusesWithAllThatAStrategyNeeds) {
  // SHARD_GRAD_OP gathers everything, 2 bytes per parameter, though its states are shared.
  const Model model = gpt(48, 4096);
  Cluster cluster = ethernet();
  cluster.memory = 16e9;
  const auto ranking = choose(model, cluster, batches_of(1));
  ASSERT_TRUE(ranking.ok()) << ranking.status().message();
  const StrategyResult* const result = find(*ranking, Strategy::shard_grad_op, 0);
  ASSERT_FALSE(result->best.has_value());
  double needed = 0;
  ASSERT_EQ(std::sscanf(result->refused.c_str(), "needs %lf GB", &needed), 1) << result->refused;
  EXPECT_GE(needed * 1e9, (2 + 16.0 / 64) * model.parameters());
}

TEST(PlanChoose, SecondaryCopiesAreForSlowNetworks) {
  PlanConstraints constraints = batches_of(8);
  constraints.strategy = Strategy::hpz;
  const Model model = gpt(48, 4096);
  const auto hpz = choose(model, ethernet(), constraints);
  ASSERT_TRUE(hpz.ok()) << hpz.status().message();
  EXPECT_EQ(hpz->first().best->job.shard, 8);
  constraints.strategy = Strategy::full_shard;
  const auto full = choose(model, ethernet(), constraints);
  EXPECT_GT(hpz->first().best->prediction.tokens_per_second,
            full->first().best->prediction.tokens_per_second);
  constraints.strategy = Strategy::hpz;
  EXPECT_THAT(choose(model, ethernet(1), constraints).status().message(),
              HasSubstr("cannot be divided into groups"));
}

TEST(PlanChoose, CutsModelsThatNoRankCanGather) {
  // A block is larger than a GPU, even alone.
  Model model{"wide", 16384, 128, 512, 0, true, {}};
  model.units.assign(8, {"block", 3.2e9, 3.2e9, 1, false});
  Cluster cluster = on({4, 8, 235, 25});
  cluster.memory = 18e9;
  PlanConstraints any = batches_of(1);
  any.parts.reset();
  const auto ranking = choose(model, cluster, any);
  ASSERT_TRUE(ranking.ok()) << ranking.status().message();
  EXPECT_GT(ranking->first().best->job.parts.tensor, 1);
  EXPECT_TRUE(check_memory(cluster, ranking->first().best->prediction.memory).ok());
  EXPECT_THAT(choose(model, cluster, batches_of(1)).status().message(),
              HasSubstr("does not fit into the memory"));
  any.can_cut = [](const Parts& parts) { return parts.tensor == 8; };
  const auto eight = choose(model, cluster, any);
  ASSERT_TRUE(eight.ok()) << eight.status().message();
  EXPECT_EQ(eight->first().best->job.parts.tensor, 8);
  PlanConstraints fixed = batches_of(1);
  fixed.parts = Parts{4, 4, 1};
  const auto kept = choose(model, cluster, fixed);
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  ASSERT_EQ(kept->results.size(), 1u);
  EXPECT_EQ(kept->first().best->job.parts.tensor, 4);
  EXPECT_EQ(kept->first().best->job.parts.stages, 4);
}

Model short_sequences() { return decoder({"short", 24, 2048, 32, 64, 32000, false, true}); }

TEST(PlanChoose, FewRowsPerMicroBatchAreNoReasonForStages) {
  // Eight sequences of 64 tokens over two ranks, whose gradients take a little longer than computing.
  const Model model = short_sequences();
  Cluster cluster = on({2, 1, 1, 160});
  PlanConstraints any = batches_of(4);
  any.parts.reset();
  const auto free = choose(model, cluster, any);
  ASSERT_TRUE(free.ok()) << free.status().message();
  EXPECT_EQ(free->first().best->job.parts.stages, 2);
  EXPECT_LE(free->first().best->job.micro_batch, 2);
  cluster.half_rows = 512;
  const auto priced = choose(model, cluster, any);
  ASSERT_TRUE(priced.ok()) << priced.status().message();
  EXPECT_EQ(priced->first().best->job.parts.ranks(), 1);
  // What was chosen before starts its products eight times as often.
  const auto stages = predict(model, cluster, free->first().best->job);
  ASSERT_TRUE(stages.ok());
  EXPECT_LT(stages->tokens_per_second * 1.5, priced->first().best->prediction.tokens_per_second);
}

TEST(PlanChoose, StagesGetMicroBatchesThatAreWorthTheirBubble) {
  Cluster cluster = on({4, 1, 1, 1});
  PlanConstraints stages = batches_of(16);
  stages.parts = Parts{1, 4, 1};
  int last = 0;
  for (const double rows : {0.0, 64.0, 512.0, 4096.0}) {
    cluster.half_rows = rows;
    const auto ranking = choose(short_sequences(), cluster, stages);
    ASSERT_TRUE(ranking.ok()) << ranking.status().message();
    EXPECT_GE(ranking->first().best->job.micro_batch, last) << rows;
    last = ranking->first().best->job.micro_batch;
  }
  EXPECT_GT(last, 4);
}

TEST(PlanChoose, GivesReasons) {
  const auto ranking = choose(gpt(48, 4096), ethernet(32), batches_of(48));
  ASSERT_TRUE(ranking.ok());
  const std::string text = reason(*ranking, gpt(48, 4096));
  EXPECT_THAT(text, HasSubstr("HYBRID_SHARD in groups of 8: links are busy for"));
  EXPECT_THAT(text, HasSubstr("The runner-up, "));
}

}  // namespace
}  // namespace weir::trainer::plan
