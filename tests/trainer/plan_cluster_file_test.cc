// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "trainer/plan/cluster_file.h"

namespace weir::trainer::plan {
namespace {

using ::testing::HasSubstr;

const std::string kHead =
    "weir cluster 1  # the title\n"
    "\n"
    "title Two nodes\n"
    "nodes 2\n"
    "gpus 4\n"
    "memory 40 GB\n"
    "peak 312 TFLOP/s\n"
    "compute 140 TFLOP/s fitted\n"
    "inside 200 GB/s given\n"
    "nic 25 GB/s given\n"
    "latency 10 us assumed\n";
const std::string kModel = "model gpt layers 3 width 64 heads 2 sequence 16 vocabulary 100 tied\n";

std::string refused(const std::string& text) {
  const auto file = parse_cluster_file("x.cluster", text);
  return file.ok() ? "accepted" : file.status().message();
}

TEST(PlanClusterFile, ReadsACluster) {
  const auto file = parse_cluster_file(
      "x.cluster", kHead + "usable 0.5 fitted\ncollective hierarchical\nbytes gather 4 reduce 4\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Cluster& cluster = file->cluster;
  EXPECT_EQ(cluster.title, "Two nodes");
  EXPECT_EQ(cluster.nodes, 2);
  EXPECT_EQ(cluster.gpus, 4);
  EXPECT_EQ(cluster.memory, 40e9);
  EXPECT_EQ(cluster.peak, 312e12);
  EXPECT_EQ(cluster.compute, 140e12);
  EXPECT_EQ(cluster.inside, 200e9);
  EXPECT_EQ(cluster.between(), 12.5e9);
  EXPECT_DOUBLE_EQ(cluster.latency, 10e-6);
  EXPECT_EQ(cluster.collective, Collective::hierarchical);
  EXPECT_EQ(cluster.precision.gather, 4);
  EXPECT_EQ(cluster.precision.activation, 2);
  ASSERT_EQ(file->constants.size(), 5u);
  EXPECT_EQ(file->constants[0].name, "compute");
  EXPECT_EQ(file->constants[0].origin, Origin::fitted);
}

TEST(PlanClusterFile, ReadsModelsRowsAndPlans) {
  const auto file = parse_cluster_file(
      "x.cluster",
      kHead + kModel +
          "model list units width 64 heads 2 sequence 16 vocabulary 100 flash\n"
          "unit 1 embedding 1000 products 0 kept\n"
          "unit 2 block 500 attentions 2\n"
          "row gpt nodes 2 batch 5 times 3 HYBRID_SHARD shard 4 recompute selective prefetch all limiter "
          "sliding 2 speed 1.5 is above 40 %MFU fitted\n"
          "row list nodes 1 batch largest FULL_SHARD is 3e3 tokens/s\n"
          "row gpt nodes 2 batch 1 times 8 pipeline 2 tensor 4 interleave 3 is 40 TFLOP/s\n"
          "plan gpt nodes 2 batch 7\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->models.size(), 2u);
  EXPECT_TRUE(file->models[0].units[0].kept);
  const Model& list = file->models[1];
  EXPECT_TRUE(list.flash);
  ASSERT_EQ(list.units.size(), 3u);
  EXPECT_EQ(list.parameters(), 2000);
  EXPECT_EQ(list.units[0].products, 0);
  EXPECT_EQ(list.units[2].attentions, 2);

  ASSERT_EQ(file->rows.size(), 3u);
  const Row& row = file->rows[0];
  EXPECT_EQ(row.line, 16);
  EXPECT_EQ(row.job.strategy, Strategy::hybrid_shard);
  EXPECT_EQ(row.job.shard, 4);
  EXPECT_EQ(row.job.micro_batch, 5);
  EXPECT_EQ(row.job.micro_batches, 3);
  EXPECT_EQ(row.job.recompute, Recompute::selective);
  EXPECT_EQ(row.job.prefetch, kEverything);
  EXPECT_EQ(row.job.limiter.kind, Limiter::Kind::sliding);
  EXPECT_EQ(row.job.limiter.gathers, 2);
  EXPECT_EQ(row.job.speed, 1.5);
  EXPECT_TRUE(row.above && row.fitted);
  EXPECT_EQ(row.published, 40);
  EXPECT_EQ(row.measure, Measure::mfu);
  EXPECT_EQ(file->rows[1].micro_batch, 0);
  EXPECT_EQ(file->rows[1].published, 3000);
  EXPECT_TRUE(file->rows[2].is_pipeline());
  EXPECT_EQ(file->rows[2].pipeline.interleave, 3);
  ASSERT_EQ(file->questions.size(), 1u);
  EXPECT_EQ(file->questions[0].batch, 7);
}

TEST(PlanClusterFile, RefusesWhatIsNoClusterFile) {
  EXPECT_EQ(refused(""), "x.cluster: expected 'weir cluster 1' as the first line");
  EXPECT_EQ(refused("# nothing\nweir cluster 2\n"),
            "x.cluster:2: expected 'weir cluster 1' as the first line");
}

TEST(PlanClusterFile, RefusesWrongFigures) {
  EXPECT_EQ(refused("weir cluster 1\nnodes many\n"),
            "x.cluster:2: 'many'; expected nodes, a number from 1 to 1000000");
  EXPECT_THAT(refused("weir cluster 1\nnodes 0\n"), HasSubstr("'0'; expected nodes"));
  EXPECT_THAT(refused("weir cluster 1\nnodes nan\n"), HasSubstr("'nan'; expected nodes"));
  EXPECT_THAT(refused("weir cluster 1\nnodes 5x\n"), HasSubstr("'5x'; expected nodes"));
  EXPECT_EQ(refused("weir cluster 1\nmemory 40 GiB\n"), "x.cluster:2: expected GB after 40");
  EXPECT_EQ(refused("weir cluster 1\nmemory\n"), "x.cluster:2: the line ends; expected memory");
  EXPECT_EQ(refused("weir cluster 1\nnic 25 GB/s\n"),
            "x.cluster:2: the line ends; expected where it comes from");
  EXPECT_EQ(refused("weir cluster 1\nnic 25 GB/s guessed\n"),
            "x.cluster:2: 'guessed'; expected where it comes from: given, assumed, fitted");
  EXPECT_EQ(refused("weir cluster 1\nnodes 2 3\n"),
            "x.cluster:2: unexpected '3'; expected the end of the line");
  EXPECT_EQ(refused("weir cluster 1\nnodes 2\nnodes 2\n"), "x.cluster:3: a second nodes");
  EXPECT_EQ(refused("weir cluster 1\nnode 2\n"), "x.cluster:2: unknown line 'node' in a cluster file");
  EXPECT_EQ(refused("weir cluster 1\nnodes 2\n"), "x.cluster: the line 'gpus' is missing");
  EXPECT_EQ(refused("weir cluster 1\nnodes 2.5\n"), "x.cluster:2: nodes 2.5; expected a whole number");
  EXPECT_THAT(refused(kHead + "bytes gather 4\nbytes reduce 4\n"), HasSubstr("a second bytes"));
  EXPECT_THAT(refused(kHead + "collective ring\ncollective ring\n"), HasSubstr("a second collective"));
  EXPECT_THAT(refused(kHead + "collective tree\n"), HasSubstr("expected an algorithm: ring, hierarchical"));
  EXPECT_THAT(refused(kHead + "bytes gather 3.5\n"), HasSubstr("a whole number"));
  EXPECT_EQ(refused(kHead + "reserve 40 GB given\n"),
            "x.cluster: the reserve takes all of the memory; expected less");
}

TEST(PlanClusterFile, RefusesMoreThanTwoFittedConstants) {
  EXPECT_EQ(refused(kHead + "usable 0.5 fitted\n"), "accepted");
  EXPECT_EQ(refused(kHead + "usable 0.5 fitted\ncontention 0.1 fitted\n"),
            "x.cluster: 3 constants are fitted; expected at most 2");
  EXPECT_EQ(refused(kHead + "usable 0.5 fitted\n" + kModel +
                    "row gpt nodes 1 batch 1 FULL_SHARD speed 1.1 is 40 %MFU\n"),
            "x.cluster: 3 constants are fitted; expected at most 2");
}

TEST(PlanClusterFile, RefusesWrongModels) {
  EXPECT_THAT(refused(kHead + kModel + kModel), HasSubstr("x.cluster:13: a second model gpt"));
  EXPECT_THAT(refused(kHead + "model gpt width 64\n"), HasSubstr("expected 'layers' and a number here"));
  EXPECT_THAT(refused(kHead + "model gpt layers 1.5\n"), HasSubstr("a whole number"));
  EXPECT_THAT(refused(kHead + kModel + "unit 1 x 5\n"),
              HasSubstr("a unit before any model; expected the line 'model NAME units"));
  EXPECT_EQ(refused(kHead + "model m units width 1 heads 1 sequence 1 vocabulary 1\n"),
            "x.cluster: model m has no units");
  EXPECT_THAT(
      refused(kHead + "model m units width 1 heads 1 sequence 1 vocabulary 1\nunit 9999 a 1\nunit 2 b 1\n"),
      HasSubstr("more than 10000 units"));
}

TEST(PlanClusterFile, RefusesWrongRows) {
  const std::string begin = kHead + kModel + "row gpt nodes 1 batch 1 ";
  EXPECT_THAT(refused(kHead + "row gpt nodes 1"),
              HasSubstr("unknown model 'gpt'; expected its 'model' line before this one"));
  EXPECT_THAT(refused(kHead + kModel + "row gpt batch 1"), HasSubstr("expected 'nodes' and a number here"));
  EXPECT_THAT(refused(kHead + kModel + "row gpt nodes 1 size 1"),
              HasSubstr("expected 'batch' and a number or 'largest'"));
  EXPECT_THAT(refused(begin + "ZERO_3"), HasSubstr("'ZERO_3'; expected a strategy: NO_SHARD, SHARD_GRAD_OP"));
  EXPECT_THAT(refused(begin + "HYBRID_SHARD is"), HasSubstr("expected 'shard' and a number here"));
  EXPECT_THAT(refused(begin + "FULL_SHARD recompute some"), HasSubstr("none, selective, full"));
  EXPECT_THAT(refused(begin + "FULL_SHARD limiter sliding is"), HasSubstr("'is'; expected gathers"));
  EXPECT_THAT(refused(begin + "FULL_SHARD 40 %MFU"),
              HasSubstr("expected 'is' and the published figure here"));
  EXPECT_THAT(
      refused(kHead + kModel + "row gpt nodes 1 batch largest pipeline 2 tensor 1 interleave 1 is 4 %MFU"),
      HasSubstr("the memory of a pipeline is not predicted"));
  EXPECT_THAT(refused(begin + "FULL_SHARD is 40 percent"), HasSubstr("%scaling, TFLOP/s, %MFU, tokens/s"));
  EXPECT_THAT(refused(begin + "FULL_SHARD is 40 %MFU indeed"),
              HasSubstr("unexpected 'indeed'; expected the end of the line"));
}

TEST(PlanClusterFile, RefusesFilesThatAreNotThere) {
  EXPECT_EQ(read_cluster_file("/nowhere/x.cluster").status().message(),
            "/nowhere/x.cluster: cannot be read; expected a cluster file");
}

}  // namespace
}  // namespace weir::trainer::plan
