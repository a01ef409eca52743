// SPDX-License-Identifier: Apache-2.0
// What weir says about itself: help, examples, man pages, the completion, docs/options.md, and what it says
// to wrong words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "src/base/options.h"
#include "tests/cli/command.h"
#include "tests/cli/weir_command.h"

#include <unistd.h>

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::run_command;
using weir::testing::weir_command;

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The commands that `weir --help` lists.
std::set<std::string> commands() {
  std::set<std::string> names;
  bool inside = false;
  for (const std::string& line : lines_of(weir_command("--help").text)) {
    inside = inside ? !line.empty() : line == "Subcommands:";
    std::smatch word;
    if (inside && std::regex_search(line, word, std::regex("^  ([a-z]+)"))) names.insert(word[1]);
  }
  return names;
}

class Folder : public ::testing::Test {
 protected:
  Folder() : path_(std::filesystem::temp_directory_path() / ("weir_manual_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() override { std::filesystem::remove_all(path_); }

  const std::filesystem::path path_;
};

using Manual = Folder;

TEST(Words, AnUnknownCommandIsNamedWithTheOneThatWasMeant) {
  const CommandResult result = weir_command("plna 'x'");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.text, HasSubstr("there is no command plna; did you mean weir plan?"));
  EXPECT_THAT(weir_command("nothing_like_it").text, Not(HasSubstr("did you mean")));
}

TEST(Words, AnUnknownOptionIsNamedWithTheOneThatWasMeant) {
  const CommandResult result = weir_command("topo --matrx");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.text, HasSubstr("there is no option --matrx; did you mean --matrix?"));
  EXPECT_THAT(weir_command("run -n 1 --bnid=none -- true").text, HasSubstr("did you mean --bind?"));
}

TEST(Words, TheOptionsOfAProgramAreItsOwn) {
  EXPECT_EQ(weir_command("run -n 1 --plain echo --bnid -x --version").text, "--bnid -x --version\n");
}

TEST(Words, AnUnknownValueIsNamedWithTheOneThatWasMeant) {
  EXPECT_THAT(weir_command("run -n 1 --bind crore true").text,
              HasSubstr("\"crore\" is not known; expected one of auto, core, none; did you mean core?"));
  EXPECT_THAT(weir_command("order '2 x (1 nic 10) leaf' --format hostfiles").text,
              HasSubstr("did you mean hostfile?"));
  EXPECT_THAT(weir_command("plan '2 gpu nvswitch 100' --collective allreduec").text,
              HasSubstr("did you mean allreduce?"));
}

TEST(Help, EveryCommandHasAnExampleAVersionAndNoNamesOfTheCode) {
  const std::set<std::string> names = commands();
  EXPECT_GE(names.size(), 15u);
  for (const std::string& name : names) {
    const CommandResult help = weir_command(name + " --help");
    EXPECT_EQ(help.code, 0) << name;
    EXPECT_THAT(help.text, ::testing::ContainsRegex("Examples?:\n  weir ")) << name;
    EXPECT_THAT(help.text, Not(HasSubstr("::"))) << name;  // a name of C++
    EXPECT_THAT(help.text, Not(HasSubstr("->"))) << name;  // an enumerator and its number
    EXPECT_EQ(weir_command("help " + name).text, help.text);
    EXPECT_THAT(weir_command(name + " --version").text, ::testing::StartsWith("weir ")) << name;
  }
}

TEST_F(Manual, TheExamplesOfCommandsThatNeedNoJobRun) {
  int count = 0;
  for (const char* name : {"topo", "plan", "explain", "sim", "verify", "order", "options", "help"}) {
    bool inside = false;
    for (const std::string& line : lines_of(weir_command(std::string(name) + " --help").text)) {
      inside = inside || line.starts_with("Example");
      if (!inside || !line.starts_with("  weir ")) continue;
      const CommandResult result =
          run_command("cd '" + path_.string() + "' && '" WEIR_PROGRAM "' " + line.substr(7) + " 2>&1");
      EXPECT_EQ(result.code, 0) << line << "\n" << result.text;
      ++count;
    }
  }
  EXPECT_GE(count, 11);
}

TEST_F(Manual, OutputGoesToAFileThatWrongArgumentsLeaveAlone) {
  const std::string file = (path_ / "options.md").string();
  EXPECT_EQ(weir_command("options --markdown -o " + file).text, "");
  EXPECT_EQ(content_of(file), weir_command("options --markdown").text);
  EXPECT_EQ(weir_command("verify nowhere.plan -o " + file).code, 2);
  EXPECT_EQ(content_of(file), weir_command("options --markdown").text);
  const CommandResult refused =
      weir_command("plan '2 gpu nvswitch 100' -o " + (path_ / "no/such/folder").string());
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, HasSubstr("cannot be written"));
}

TEST_F(Manual, HasAPageForEachCommandAndWordsForTheShell) {
  ASSERT_EQ(weir_command("manual " + path_.string()).text, "");
  EXPECT_THAT(content_of(path_ / "man1/weir.1"), HasSubstr("\\fBweir\\-plan\\fR(1)"));
  for (const std::string& name : commands())
    EXPECT_THAT(content_of(path_ / ("man1/weir-" + name + ".1")), HasSubstr("\\fBweir " + name + "\\fR"))
        << name;
  EXPECT_THAT(content_of(path_ / "man1/weir-plan.1"), HasSubstr("\\fB\\-\\-collective\\fR"));
  const auto completed = [&](const std::string& words, int at) {
    return run_command("bash -c 'source " + (path_ / "weir.bash").string() + "; COMP_WORDS=(" + words +
                       "); COMP_CWORD=" + std::to_string(at) + "; _weir; echo \"${COMPREPLY[@]}\"'")
        .text;
  };
  EXPECT_EQ(completed("weir pl", 1), "plan\n");
  EXPECT_EQ(completed("weir topo --mat", 2), "--matrix\n");
  EXPECT_EQ(completed("weir run --bind c", 3), "core\n");
  EXPECT_EQ(completed("weir topo fab", 2), "\n");  // a file: left to the shell
}

TEST(OptionsPage, IsWhatTheTableGives) {
  EXPECT_EQ(content_of(WEIR_OPTIONS_PAGE), weir_command("options --markdown").text)
      << "docs/options.md is stale: write it by build/bin/weir options --markdown -o docs/options.md";
  for (const OptionRow& row : option_table())
    EXPECT_THAT(content_of(WEIR_OPTIONS_PAGE), HasSubstr("| `" + std::string(row.name) + "` |"));
}

TEST(MachinePage, IsWhatTheTablesGive) {
  EXPECT_EQ(content_of(WEIR_MACHINE_PAGE), weir_command("help machine --markdown").text)
      << "docs/machine.md is stale: write it by build/bin/weir help machine --markdown -o docs/machine.md";
  EXPECT_EQ(weir_command("help plan --markdown").code, 2);
}

TEST(MachinePage, ItsExamplesAreMachines) {
  int count = 0;
  for (const std::string& line : lines_of(weir_command("help machine").text)) {
    if (!line.starts_with("  weir ")) continue;
    const CommandResult result = weir_command(line.substr(7));
    EXPECT_EQ(result.code, 0) << line << "\n" << result.text;
    ++count;
  }
  EXPECT_GE(count, 5);
}

TEST(OptionsPage, NoOptionIsOfALaterVersion) {
  const auto numbers = [](const std::string& text) {
    std::vector<int> found;
    std::istringstream in(text);
    for (std::string number; std::getline(in, number, '.');) found.push_back(std::stoi(number));
    return found;
  };
  const std::vector<int> now = numbers(weir_command("--version").text.substr(std::string("weir ").size()));
  const std::string page = weir_command("options --markdown").text;
  const std::regex row("\\| `[A-Z_0-9]+` \\|[^|]*\\|[^|]*\\|[^|]*\\| ([0-9]+\\.[0-9]+\\.[0-9]+) \\|");
  size_t count = 0;
  for (auto found = std::sregex_iterator(page.begin(), page.end(), row); found != std::sregex_iterator();
       ++found, ++count)
    EXPECT_LE(numbers((*found)[1]), now) << found->str();
  EXPECT_EQ(count, option_table().size());
}

}  // namespace
}  // namespace weir::cli
