// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/common_options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>

#include "tests/cli/command.h"
#include "tests/trainer/temporary_folder.h"

namespace weir::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CommonOptions : public ::testing::Test {
 protected:
  static Text text(const std::string& bytes) {
    const checkpoint::TemporaryFolder folder;
    const std::string path = folder.path() + ".txt";
    std::ofstream(path) << bytes;
    auto text = Text::from_file(path);
    std::remove(path.c_str());
    EXPECT_TRUE(text.ok()) << text.status().message();
    return std::move(*text);
  }
  /// Names of options, and what changes each.
  using Changes = std::vector<std::pair<std::string, std::function<void()>>>;

  std::string lines() const { return lines_of(common_options(settings_, report_, text_)); }
  /// Makes the changes one after the other; each must be named alone.
  void expect_differences(std::string last, const Changes& changes) const {
    for (const auto& [name, change] : changes) {
      change();
      const std::string now = lines();
      const std::string said = differences(std::vector{last, now, last});
      EXPECT_THAT(said, StartsWith(name + " is ")) << name;
      EXPECT_THAT(said, HasSubstr(" on ranks 0, 2, and ")) << name;
      EXPECT_EQ(said.find(';'), std::string::npos) << said;
      last = now;
    }
  }

  Settings settings_;
  ReportSettings report_;
  Text text_ = text(std::string(5000, 'a'));
};

/// Every option that decides what ranks compute or send is compared, and named alone if it alone differs.
TEST_F(CommonOptions, EachIsNamed) {
  const std::string before = lines();
  EXPECT_EQ(differences(std::vector{before, before, before}), "");
  const Changes changes = {
      {"--preset", [&] { settings_.config.name = "other"; }},
      {"--blocks", [&] { ++settings_.config.layers; }},
      {"--data", [&] { text_ = text(std::string(4999, 'a') + "b"); }},
      {"--vocabulary", [&] { ++settings_.config.vocabulary; }},
      {"--separate-documents", [&] { settings_.separator = 0; }},
      {"--precision", [&] { settings_.precision = Precision::bf16; }},
      {"--recompute", [&] { settings_.recompute = Recompute::full; }},
      {"--steps", [&] { ++settings_.steps; }},
      {"--stop-after", [&] { ++settings_.stop_after; }},
      {"--batch", [&] { ++settings_.batch; }},
      {"--micro-batch", [&] { ++settings_.micro_batch; }},
      {"--seed", [&] { ++settings_.seed; }},
      {"--learning-rate", [&] { settings_.learning_rate *= 1.0001f; }},
      {"--warm-up", [&] { ++settings_.warm_up; }},
      {"--weight-decay", [&] { settings_.weight_decay += 1; }},
      {"--optimizer", [&] { settings_.optimizer = Optimizer::muon; }},
      {"--allow-changes", [&] { settings_.allowed_changes = {"seed"}; }},
      {"--clip", [&] { settings_.clip = 0; }},
      {"--strategy", [&] { settings_.sharding.strategy = shard::Strategy::no_shard; }},
      {"--tied", [&] { settings_.config.tied = true; }},
      {"--pipeline", [&] { ++settings_.parts.stages; }},
      {"--tensor", [&] { ++settings_.parts.slices; }},
      {"--shard-ranks", [&] { ++settings_.sharding.shard_ranks; }},
      {"--prefetch", [&] { ++settings_.sharding.forward_prefetch; }},
      {"--limiter", [&] { settings_.sharding.limiter.kind = shard::Limit::block; }},
      {"--gathers", [&] { ++settings_.sharding.limiter.gathers; }},
      {"--gather-bytes", [&] { ++settings_.sharding.limiter.bytes; }},
      {"--memory", [&] { ++settings_.memory; }},
      {"--gather", [&] { settings_.sharding.gather = shard::Precision::bfloat16; }},
      {"--reduce", [&] { settings_.sharding.reduce = shard::Precision::bfloat16; }},
      {"--evaluation-sequences", [&] { ++settings_.evaluation_sequences; }},
      {"--evaluate-every", [&] { ++report_.evaluate_every; }},
      {"--checkpoints-local", [&] { settings_.checkpoints_local = true; }},
      {"--checkpoints", [&] { settings_.checkpoints = "/folder"; }},
      {"--checkpoint-every", [&] { ++settings_.checkpoint_every; }},
      {"--keep", [&] { ++settings_.checkpoints_kept; }},
      {"--trace", [&] { report_.journal.trace = "file"; }},
      {"--page", [&] { report_.journal.page = "file"; }},
      {"--prompt", [&] { report_.prompt = "two\nlines"; }},
      {"--sample", [&] { ++report_.sample_tokens; }},
      {"--temperature", [&] { report_.temperature += 1; }},
  };
  expect_differences(before, changes);
}

TEST_F(CommonOptions, OfGroupsAreNamed) {
  const Changes changes = {
      {"--local-steps", [&] { ++settings_.local_steps; }},
      {"--outer-learning-rate", [&] { settings_.outer_learning_rate += 1; }},
      {"--outer-momentum", [&] { settings_.outer_momentum = 0; }},
      {"--outer-fragments", [&] { ++settings_.outer_fragments; }},
      {"--outer-delay", [&] { settings_.outer_delay = 3; }},
      {"--outer-mix", [&] { settings_.outer_mix = 0; }},
  };
  expect_differences(lines(), changes);
}

TEST_F(CommonOptions, ManyDifferencesAreCut) {
  std::vector<std::string> ranks;
  for (int rank = 0; rank < 1000; ++rank) {
    settings_.seed = static_cast<uint64_t>(rank);
    settings_.batch = rank < 10 ? 8 : 16;
    ranks.push_back(lines());
  }
  const std::string said = differences(ranks);
  EXPECT_THAT(said,
              HasSubstr("--batch is 8 on ranks 0, 1, 2, 3 and 6 more, and 16 on ranks 10, 11, 12, 13 and "
                        "986 more"));
  EXPECT_THAT(said,
              HasSubstr("--seed is 0 on rank 0, and 1 on rank 1, and 2 on rank 2, and 3 on rank 3, and 996 "
                        "more values"));
}

/// At once, and before anything is trained. One of the ranks says so, and may be stopped before the other
/// has.
TEST(CommonOptionsOfProcesses, DifferencesEndTheRun) {
  for (const auto& [option, said] :
       {std::pair{"--seed $((RANK + 1))", "--seed is 1 on rank 0, and 2 on rank 1"},
        {"--strategy $([ $RANK = 0 ] && echo full || echo gradients)",
         "--strategy is FULL_SHARD on rank 0, and SHARD_GRAD_OP on rank 1"}}) {
    const weir::testing::CommandResult result = weir::testing::run_command(
        fmt::format("'{}' run -n 2 --plain -- sh -c 'exec {} --preset tiny --steps 3 --sample 0 "
                    "--evaluation-sequences 4 {}' 2>&1",
                    WEIR_PROGRAM, WEIR_TRAIN_PROGRAM, option));
    EXPECT_NE(result.code, 0) << option;
    const std::string sentence = fmt::format(
        "weir-train: the ranks were started with different options: {}; expected the same on all "
        "ranks",
        said);
    EXPECT_NE(result.text.find(sentence), std::string::npos) << result.text;
    EXPECT_EQ(result.text.find("nats"), std::string::npos) << result.text;
  }
}

/// Products of another instruction set have other bits.
TEST(CommonOptionsOfProcesses, OtherCodeOfProductsEndsTheRunUnlessAnyBitsWillDo) {
  const auto run = [](const char* options) {
    return weir::testing::run_command(
        fmt::format("'{}' run -n 2 --plain -- sh -c '[ $RANK = 0 ] || export DNNL_MAX_CPU_ISA=SSE41; exec {} "
                    "--preset tiny --steps 3 --sample 0 --evaluation-sequences 4 {}' 2>&1",
                    WEIR_PROGRAM, WEIR_TRAIN_PROGRAM, options));
  };
  const weir::testing::CommandResult refused = run("");
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.text,
              HasSubstr("the code of matrix products (any with --deterministic off) is oneDNN "));
  EXPECT_THAT(refused.text,
              ::testing::ContainsRegex(
                  " for sse41( with OpenBLAS [^,]*)? on rank 1; expected the same on all ranks"));
  const weir::testing::CommandResult taken = run("--deterministic off");
  EXPECT_EQ(taken.code, 0) << taken.text;
  EXPECT_THAT(taken.text, HasSubstr("parameters and moments: "));
}

}  // namespace
}  // namespace weir::trainer
