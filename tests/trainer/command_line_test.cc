// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weir::trainer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A program with --sample, a number, and --page, a text.
struct Program {
  Program() {
    write_plainly(app);
    app.add_option("--sample", sample, "Bytes");
    app.add_option("--page", page, "Page");
  }
  /// The exit code, and what standard error says.
  std::pair<std::optional<int>, std::string> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    ::testing::internal::CaptureStderr();
    const std::optional<int> code = trainer::parse(app, static_cast<int>(words.size()), words.data());
    return {code, ::testing::internal::GetCapturedStderr()};
  }

  CLI::App app{"For a test", "program"};
  int sample = 0;
  std::string page;
};

TEST(CommandLine, IsReadIntoWhatIsBound) {
  Program program;
  EXPECT_EQ(program.parse({"--sample", "3", "--page=x"}), std::pair(std::optional<int>(), std::string()));
  EXPECT_EQ(program.sample, 3);
  EXPECT_EQ(program.page, "x");
}

TEST(CommandLine, OfAnUnknownOptionTheOneThatWasMeantIsNamed) {
  for (const char* const word : {"--sampel", "--sampel=3"}) {
    const auto [code, said] = Program().parse({word, "3"});
    EXPECT_EQ(code, kExitUsage);
    EXPECT_THAT(said, HasSubstr("program: there is no option --sampel; did you mean --sample?\n"));
  }
  const auto [code, said] = Program().parse({"--nothing-like-it"});
  EXPECT_EQ(code, kExitUsage);
  EXPECT_THAT(said, AllOf(HasSubstr("there is no option --nothing-like-it\n"), Not(HasSubstr("mean"))));
}

TEST(CommandLine, OtherWordsAndValuesAreRefusedInTheWordsOfTheParser) {
  const auto [code, said] = Program().parse({"word"});
  EXPECT_EQ(code, kExitUsage);
  EXPECT_THAT(said, HasSubstr("not expected: word"));
  const auto [number, about] = Program().parse({"--sample", "many"});
  EXPECT_EQ(number, kExitUsage);
  EXPECT_THAT(about, HasSubstr("many"));
}

}  // namespace
}  // namespace weir::trainer
