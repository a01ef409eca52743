// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "plan_machine.h"
#include "trainer/plan/predict.h"

namespace weir::trainer::plan {
namespace {

Cluster cluster() {
  Cluster cluster = on({2, 8});
  cluster.memory = 10e9;
  cluster.reserve = 1e9;
  return cluster;
}

Model small() { return decoder({"small", 4, 256, 4, 128, 1000, false, false}); }

TEST(PlanMemory, CountsParametersOfADecoder) {
  const Model model = small();
  ASSERT_EQ(model.units.size(), 6u);
  EXPECT_EQ(model.parameters(), 4 * (12 * 256 * 256 + 13 * 256) + (1000 + 128) * 256 + 1000 * 256 + 2 * 256);
  // MPT-7B as LLM Foundry counts it, less its missing biases and norms.
  const Model mpt = decoder({"MPT-7B", 32, 4096, 32, 2048, 50432, true, true});
  EXPECT_NEAR(mpt.parameters() / 6658859008.0, 1, 1e-3);
}

TEST(PlanMemory, StatesAreShared) {
  const Model model = small();
  const double all = 16 * model.parameters();  // fp32 parameters and moments, bf16 parameters and gradients
  const auto bytes = [&](Strategy strategy, int shard) {
    return state_bytes(model, cluster(), *groups_of(strategy, cluster(), shard));
  };
  EXPECT_DOUBLE_EQ(bytes(Strategy::no_shard, 0), all);
  EXPECT_DOUBLE_EQ(bytes(Strategy::full_shard, 0), all / 16);
  EXPECT_DOUBLE_EQ(bytes(Strategy::shard_grad_op, 0), all / 16);
  EXPECT_DOUBLE_EQ(bytes(Strategy::hybrid_shard, 4), all / 4);
  EXPECT_DOUBLE_EQ(bytes(Strategy::hpz, 8), all / 16 + 2 * model.parameters() / 8);
}

TEST(PlanMemory, RecomputationSavesActivations) {
  const Model model = small();
  const double tokens = 3 * 128;
  const double plain = tokens * 256 * 34;
  const double scores = 3.0 * 5 * 4 * 128 * 128;
  const double logits = tokens * 6 * 1000;
  EXPECT_DOUBLE_EQ(activation_bytes(model, cluster(), Recompute::none, 3).total(),
                   4 * (plain + scores) + logits);
  EXPECT_DOUBLE_EQ(activation_bytes(model, cluster(), Recompute::selective, 3).total(),
                   4 * plain + std::max(scores, logits));
  EXPECT_DOUBLE_EQ(activation_bytes(model, cluster(), Recompute::full, 3).total(),
                   6 * tokens * 256 * 2 + std::max(plain + scores, logits));
}

TEST(PlanMemory, FlashAttentionKeepsNoScores) {
  Model model = small();
  const double with = activation_bytes(model, cluster(), Recompute::none, 1).total();
  model.flash = true;
  EXPECT_DOUBLE_EQ(with - activation_bytes(model, cluster(), Recompute::none, 1).total(),
                   4.0 * 5 * 4 * 128 * 128);
}

TEST(PlanMemory, GrowsWithTheBatchAndTheElement) {
  Cluster wide = cluster();
  wide.precision.activation = 4;
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
    const double one = activation_bytes(small(), cluster(), recompute, 1).total();
    EXPECT_DOUBLE_EQ(activation_bytes(small(), cluster(), recompute, 7).total(), 7 * one);
    EXPECT_DOUBLE_EQ(activation_bytes(small(), wide, recompute, 1).total(), 2 * one);
  }
}

TEST(PlanMemory, RefusesWithWhatIsNeeded) {
  EXPECT_TRUE(check_memory(cluster(), {4e9, 3e9, 2e9}).ok());
  const Status status = check_memory(cluster(), {4e9, 3e9, 2.1e9});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(),
            "needs 9.1 GB per GPU (states 4.0, in flight 3.0, activations 2.1); expected at most 9.0 GB");
}

}  // namespace
}  // namespace weir::trainer::plan
