// SPDX-License-Identifier: Apache-2.0
// The shipped files: predictions beside published figures, and the ablation of the limiter.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "trainer/plan/choose.h"
#include "trainer/plan/published.h"
#include "trainer/plan/report.h"

namespace weir::trainer::plan {
namespace {

using ::testing::HasSubstr;

constexpr double kTolerance = 0.10;

ModelsFile shipped(const std::string& name) {
  auto file = read_models_file(WEIR_PUBLISHED "/" + name + ".json");
  const Status linked = file.ok() ? file->link() : file.status();
  if (!linked.ok()) {
    ADD_FAILURE() << linked.message();
    return {};
  }
  return std::move(*file);
}

class PlanPublished : public ::testing::TestWithParam<const char*> {};

TEST_P(PlanPublished, IsPredictedWithinATenth) {
  const ModelsFile file = shipped(GetParam());
  for (const Row& row : file.rows) {
    const auto outcome = evaluate(file, row);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    // Without limiter the published job was slowed by its allocator, which is modelled in part.
    const bool unlimited = row.measure == Measure::scaling && row.published == 20;
    // MPT-7B keeps all activations and loses more from node to node than others.
    const double tolerance = row.model == "MPT-7B" && row.nodes >= 32 ? 0.14 : kTolerance;
    if (!unlimited) {
      EXPECT_LE(std::abs(outcome->off), tolerance) << row.model << " on " << row.nodes << " nodes";
    }
    if (row.fitted) {
      EXPECT_LE(std::abs(outcome->off), 0.08) << row.model << " on " << row.nodes << " nodes";
    }
  }
}

TEST_P(PlanPublished, IsPlanned) {
  const ModelsFile file = shipped(GetParam());
  EXPECT_FALSE(file.questions.empty());
  for (const Question& question : file.questions) {
    Cluster cluster = file.cluster;
    cluster.nodes = question.nodes;
    PlanConstraints constraints;
    constraints.batch = question.batch;
    const auto ranking = choose(*file.model(question.model), cluster, constraints);
    ASSERT_TRUE(ranking.ok()) << ranking.status().message();
    const auto words = describe(*ranking, *file.model(question.model), cluster);
    ASSERT_TRUE(words.ok()) << words.status().message();
    EXPECT_THAT(*words, HasSubstr("choice "));
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, PlanPublished,
                         ::testing::Values("ibm-a100-ethernet", "llm-foundry-h100", "torchtitan-h100",
                                           "dgx-superpod-h100", "mi250-aac", "mi250-infiniband"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Tokens per second of T5-11B on 32 nodes, of those of one node.
double scaling(const ModelsFile& file, Limiter limiter, int batch) {
  Row row;
  row.model = "T5-11B";
  row.nodes = 32;
  row.micro_batch = row.job.micro_batch = batch;
  row.job.recompute = Recompute::full;
  row.job.prefetch = kEverything;
  row.job.limiter = limiter;
  row.published = 1;
  row.measure = Measure::scaling;
  return evaluate(file, row)->predicted / 100;
}

TEST(PlanAblation, LimiterMakesTheDifference) {
  const ModelsFile file = shipped("ibm-a100-ethernet");
  const double off = scaling(file, {Limiter::Kind::off, 0, 0}, 20);
  const double stall = scaling(file, {Limiter::Kind::stall, 0, 0}, 20);
  const double block = scaling(file, {Limiter::Kind::block, 4, 0}, 50);
  const double sliding = scaling(file, {Limiter::Kind::sliding, 2, 0}, 50);
  EXPECT_LT(stall, off);
  EXPECT_LT(off, block);
  EXPECT_LT(block, sliding);
  EXPECT_GE(sliding / stall, 3);
  EXPECT_GE(block, 0.70);
  EXPECT_LT(scaling(file, {Limiter::Kind::block, 2, 0}, 50), block);
}

TEST(PlanAblation, LimiterIsForMemory) {
  const ModelsFile file = shipped("ibm-a100-ethernet");
  Cluster cluster = file.cluster;
  Job job;
  job.recompute = Recompute::full;
  job.prefetch = kEverything;
  const int off = *largest_batch(*file.model("T5-11B"), cluster, job);
  job.limiter = {Limiter::Kind::sliding, 2, 0};
  const int sliding = *largest_batch(*file.model("T5-11B"), cluster, job);
  EXPECT_GT(sliding, off * 1.3);
}

TEST(PlanPublishedMemory, StatesShrinkAsMeasured) {
  // torchtitan: 82.4 GiB on 8 GPUs, 67.0 GiB on 128, all else equal.
  const ModelsFile file = shipped("torchtitan-h100");
  const auto states = [&](int nodes) {
    Cluster cluster = file.cluster;
    cluster.nodes = nodes;
    return state_bytes(file.models[0], cluster, *groups_of(Strategy::full_shard, cluster, 0)) / (1 << 30);
  };
  EXPECT_NEAR((states(1) - states(16)) / (82.4 - 67.0), 1, 0.05);
}

TEST(PlanPublishedTable, ShowsHowFarOffEachRowIs) {
  const auto table = published_table(shipped("dgx-superpod-h100"));
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(*table, HasSubstr("GPT-175B"));
  EXPECT_THAT(*table, HasSubstr("8 stages of 4 GPUs, interleave 12, batch 8 x 1"));
  EXPECT_THAT(*table, HasSubstr("(fitted)"));
}

TEST(PlanPublishedTable, NamesARowThatCannotBe) {
  ModelsFile file = shipped("mi250-aac");
  file.rows[0].job.strategy = Strategy::hybrid_shard;
  file.rows[0].job.shard = 3;
  EXPECT_THAT(published_table(file).status().message(), HasSubstr("rows[0]: a shard group of 3 ranks"));
}

}  // namespace
}  // namespace weir::trainer::plan
