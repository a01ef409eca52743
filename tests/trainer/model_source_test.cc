// SPDX-License-Identifier: Apache-2.0
// The program takes its model from folders and checkpoints, and writes it.
#include "trainer/run/model_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command.h"
#include "tests/trainer/temporary_folder.h"

namespace weir::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

weir::testing::CommandResult trained(const std::string& arguments) {
  return weir::testing::run_command(fmt::format(
      "'{}' --batch 4 --evaluation-sequences 4 --evaluate-every 0 --deterministic canonical {} 2>&1",
      WEIR_TRAIN_PROGRAM, arguments));
}

/// The line that begins with these words.
std::string line_in(const std::string& text, const std::string& begin) {
  const size_t at = text.find("\n" + begin);
  return at == std::string::npos ? text : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

class ProgramModels : public ::testing::Test {
 protected:
  std::string in_folder(const char* name) const { return folder_.path() + "/" + name; }

 private:
  checkpoint::TemporaryFolder folder_;
};

TEST_F(ProgramModels, AreTheSameHoweverTheModelIsCut) {
  const std::string common =
      "--preset tiny --steps 2 --sample 0 --learning-rate 0.0001 --export " + in_folder("model");
  std::string before;
  for (const char* cut : {"", "--ranks 3", "--ranks 2 --strategy none",
                          "--ranks 4 --pipeline 2 --strategy hybrid --shard-ranks 1"}) {
    const auto result = trained(common + " " + cut);
    ASSERT_EQ(result.code, 0) << result.text;
    EXPECT_THAT(result.text, HasSubstr("exported to " + in_folder("model") + "\n"));
    const auto imported = trained("--import " + in_folder("model") +
                                  " --steps 1 --sample 0 --learning-rate 1e-30 --weight-decay 0");
    ASSERT_EQ(imported.code, 0) << imported.text;
    EXPECT_THAT(imported.text,
                HasSubstr("model imported: 4 blocks of width 128, 4 heads, sequences of 64 bytes"));
    const std::string bits = line_in(imported.text, "parameters and moments: ");
    if (before.empty()) before = bits;
    EXPECT_EQ(bits, before) << cut;
  }
}

TEST_F(ProgramModels, GoOnWhereTheyEnded) {
  const auto first = trained("--preset tiny --steps 3 --sample 0 --export " + in_folder("model"));
  ASSERT_EQ(first.code, 0) << first.text;
  for (const char* cut : {"", "--ranks 2", "--ranks 2 --pipeline 2", "--ranks 4 --strategy gradients"}) {
    const auto second = trained(fmt::format("--import {} --steps 3 --sample 0 {}", in_folder("model"), cut));
    ASSERT_EQ(second.code, 0) << second.text;
    const std::string begins = line_in(second.text, "     0  ");
    const std::string held_out = first.text.substr(first.text.rfind("     3  "));
    EXPECT_EQ(begins.substr(6, 20), held_out.substr(6, 20)) << cut << "\n" << first.text << second.text;
  }
}

TEST_F(ProgramModels, ACheckpointIsSampledWithoutTraining) {
  const auto first =
      trained("--preset tiny --blocks 2 --steps 3 --sample 40 --ranks 2 --checkpoints " + in_folder("kept"));
  ASSERT_EQ(first.code, 0) << first.text;
  const std::string digest = line_in(first.text, "parameters and moments: ");
  const std::string text = first.text.substr(first.text.find(digest));
  for (const std::string& from : {in_folder("kept"), in_folder("kept") + "/step-00000003/"})
    for (const char* cut : {"", "--ranks 2 --pipeline 2"}) {
      const auto sampled = trained(fmt::format("--sample-from {} --sample 40 {}", from, cut));
      ASSERT_EQ(sampled.code, 0) << sampled.text;
      EXPECT_THAT(sampled.text, HasSubstr("model of the checkpoint: 2 blocks of width 128, 4 heads"));
      EXPECT_THAT(sampled.text, HasSubstr("\ncheckpoint after step 3\n"));
      EXPECT_EQ(sampled.text.substr(sampled.text.find(digest)), text) << "the same digest and text";
      EXPECT_EQ(line_in(sampled.text, "     3  ").substr(0, 27),
                first.text.substr(first.text.rfind("     3  "), 27))
          << "the same loss on the held-out text";
      EXPECT_THAT(sampled.text, Not(HasSubstr("tokens/s")));
    }
  EXPECT_EQ(trained("--sample-from " + in_folder("kept") + " --sample 0 --export " + in_folder("model")).code,
            0);
  const auto imported = trained("--import " + in_folder("model") + " --steps 1 --sample 0");
  EXPECT_EQ(line_in(imported.text, "     0  ").substr(6, 21),
            first.text.substr(first.text.rfind("     3  ") + 6, 21));
}

/// As on two hosts, each with a folder of its own.
TEST_F(ProgramModels, GoOnFromFoldersThatAreNotShared) {
  const auto run = [&](const std::string& folder, const std::string& arguments) {
    return weir::testing::run_command(
        fmt::format("'{}' run -n 2 --plain -- sh -c 'exec {} --preset tiny --batch 4 --steps 4 --sample 0 "
                    "--evaluate-every 0 "
                    "--evaluation-sequences 4 --deterministic canonical {} --checkpoints {}' 2>&1",
                    WEIR_PROGRAM, WEIR_TRAIN_PROGRAM, arguments, folder));
  };
  const std::string own = in_folder("host") + "$RANK", other = in_folder("host") + "$((1 - RANK))";
  const auto first = run(own, "--checkpoints-local --stop-after 2");
  ASSERT_EQ(first.code, 0) << first.text;
  const auto second = run(other, "--checkpoints-local");
  ASSERT_EQ(second.code, 0) << second.text;
  EXPECT_THAT(second.text, HasSubstr("resumed after step 2\n"));
  const auto whole = trained("--preset tiny --steps 4 --sample 0");
  const std::string digest = "parameters and moments: ";
  EXPECT_EQ(line_in(second.text, digest), line_in(whole.text, digest));
}

TEST_F(ProgramModels, WhatCannotBeUsedIsRefusedWithASentence) {
  const auto expect = [](const std::string& arguments, int code, const std::string& text) {
    const auto result = trained(arguments);
    EXPECT_EQ(result.code, code) << arguments;
    EXPECT_THAT(result.text, HasSubstr(text)) << arguments;
    EXPECT_THAT(result.text, Not(HasSubstr("held out, after"))) << "before anything is trained";
  };
  expect("--import /no/such", 1, "weir-train: opening /no/such/config.json: No such file or directory");
  expect("--sample-from /no/such", 2, "weir-train: /no/such: expected a checkpoint, or a folder with one");
  expect("--preset tiny --export /dev/null/a", 1, "/dev/null/a: the folder of the model cannot be made");
  expect("--preset tiny --import a", 2, "--preset excludes --import");
  expect("--sample-from a --checkpoints b", 2, "excludes");
}

}  // namespace
}  // namespace weir::trainer
