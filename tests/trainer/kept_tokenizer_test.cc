// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/kept_tokenizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/command.h"
#include "tests/trainer/small_tokenizer.h"
#include "tests/trainer/temporary_folder.h"

namespace weir::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class KeptTokenizers : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  weir::testing::CommandResult run(const std::string& arguments) const {
    return weir::testing::run_command(
        fmt::format("'{}' --data {} --evaluation-sequences 2 --sample 3 --prompt hey {} 2>&1",
                    WEIR_TRAIN_PROGRAM, text_, arguments));
  }
  static std::string many_lines() {
    std::string lines;
    for (int at = 0; at < 300; ++at) lines += fmt::format("hey {}\n", at * at);
    return lines;
  }

  checkpoint::TemporaryFolder folder_;
  const std::string text_ = put("text", many_lines());
  const std::string tokenizer_ = put("some.json", some_tokenizer());
  const std::string kept_ = folder_.path() + "/kept";
  const std::string train_ = "--preset llama-tiny --blocks 1 --batch 2 --checkpoints " + kept_;
};

TEST_F(KeptTokenizers, AreUsedWhereNoneIsGiven) {
  ASSERT_EQ(run(train_ + " --steps 1 --ranks 2 --tokenizer " + tokenizer_).code, 0);
  std::ifstream file(kept_ + "/step-00000001/tokenizer.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), some_tokenizer());
  std::filesystem::remove(tokenizer_);
  for (const std::string& from : {kept_, kept_ + "/step-00000001"}) {
    const auto sampled = run("--sample-from " + from);
    EXPECT_EQ(sampled.code, 0) << sampled.text;
    EXPECT_THAT(sampled.text, HasSubstr("bits/token"));
    EXPECT_THAT(sampled.text, HasSubstr("\nhey"));
  }
  const std::string model = folder_.path() + "/model";
  const auto resumed = run(train_ + " --steps 2 --keep 1 --export " + model);
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("resumed after step 1\n"));
  std::ifstream exported(model + "/tokenizer.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(exported), {}), some_tokenizer());
}

TEST_F(KeptTokenizers, MustBeThatOfTheCheckpoint) {
  ASSERT_EQ(run(train_ + " --steps 1 --tokenizer " + tokenizer_).code, 0);
  const std::string other = put("other.json", nlohmann::json::parse(some_tokenizer()).dump(2));
  for (const std::string& arguments : {"--sample-from " + kept_, train_ + " --steps 2"}) {
    const auto refused = run(arguments + " --tokenizer " + other);
    EXPECT_EQ(refused.code, 2) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("--tokenizer is not the tokenizer with which the checkpoint " +
                                        kept_ + "/step-00000001 was trained"));
    EXPECT_THAT(refused.text, Not(HasSubstr("held out, after")));
  }
  EXPECT_EQ(run("--sample-from " + kept_ + " --tokenizer " + tokenizer_).code, 0);
  std::filesystem::copy_file(other, kept_ + "/step-00000001/tokenizer.json",
                             std::filesystem::copy_options::overwrite_existing);
  const auto damaged = run("--sample-from " + kept_);
  EXPECT_EQ(damaged.code, 2) << damaged.text;
  EXPECT_THAT(damaged.text, HasSubstr("the checkpoint's tokenizer has changed"));
}

}  // namespace
}  // namespace weir::trainer
