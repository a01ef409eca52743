// SPDX-License-Identifier: Apache-2.0

#include "src/base/log.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "src/base/error_log.h"
#include "src/base/host.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

/// Logs to a separate file during the test; logging is off afterwards.
class Log : public ::testing::Test {
 protected:
  ~Log() override {
    configure_log({});
    std::remove(path_.c_str());
  }
  void configure(const std::string& level, const std::string& subsystems = "", LogSettings more = {}) {
    more.level = level;
    more.subsystems = subsystems;
    more.file = ::testing::TempDir() + "weir-log-%p.txt";
    configure_log(more);
  }
  std::string printed() const {
    std::ifstream file(path_);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  const std::string path_ = ::testing::TempDir() + "weir-log-" + std::to_string(getpid()) + ".txt";
  const std::string who_ = short_hostname() + ":" + std::to_string(getpid()) + ":[0-9]+ ";
};

TEST_F(Log, NothingIsPrintedByDefaultButTheLastErrorStays) {
  ::testing::internal::CaptureStdout();
  configure_log({});
  log_error("number 7 is wrong");
  WEIR_INFO(init, "hidden");
  log_version("version");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_STREQ(last_error(), "number 7 is wrong");
}

TEST_F(Log, AnErrorIsPrintedAsAWarningAndAWarningIsNoError) {
  configure("WARN");
  log_error("rank 3 is dead");
  WEIR_WARN("WEIR_SPIN is not set well");
  EXPECT_THAT(printed(), AllOf(HasSubstr("log_test.cc:"), HasSubstr("NCCL WARN rank 3 is dead\n"),
                               HasSubstr("NCCL WARN WEIR_SPIN is not set well\n")));
  EXPECT_STREQ(last_error(), "rank 3 is dead");
}

TEST_F(Log, PrintsToStdoutWithoutAFile) {
  ::testing::internal::CaptureStdout();
  configure_log(
      {.level = "VERSION", .subsystems = "", .file = "", .timestamp_format = "", .timestamp_levels = ""});
  log_version("NCCL version 2.28.9 (weir 0.2.0)");
  WEIR_WARN("hidden");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "NCCL version 2.28.9 (weir 0.2.0)\n");
}

TEST_F(Log, LinesHaveNcclsShapes) {
  configure("INFO");
  WEIR_INFO(init, "Init {}", "COMPLETE");
  EXPECT_THAT(printed(), MatchesRegex(who_ + "\\[0\\] NCCL INFO Init COMPLETE\n"));
  configure("trace", "ALL");
  WEIR_TRACE(net, "deep");
  EXPECT_THAT(printed(),
              MatchesRegex("(.|\n)*" + who_ + "\\[0\\] [0-9]+\\.[0-9]+ TestBody:[0-9]+ NCCL TRACE deep\n"));
  WEIR_CALL("ncclAllReduce(1)");
  EXPECT_THAT(printed(), MatchesRegex("(.|\n)*" + who_ + "NCCL CALL ncclAllReduce\\(1\\)\n"));
}

TEST_F(Log, WarningsHaveAnEmptyLineATimeAndAPlace) {
  configure("warn");
  WEIR_WARN("careful");
  EXPECT_THAT(printed(), MatchesRegex("\n\\[[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+\\] " + who_ +
                                      "\\[0\\] log_test.cc:[0-9]+ NCCL WARN careful\n"));
}

TEST_F(Log, SubsystemsAreChosen) {
  configure("INFO");
  WEIR_INFO(init, "init");
  WEIR_INFO(net, "net");
  EXPECT_THAT(printed(), AllOf(HasSubstr("INFO init"), Not(HasSubstr("INFO net"))));
  configure("INFO", "net,coll");
  WEIR_INFO(net, "net2");
  WEIR_INFO(init, "init2");
  EXPECT_THAT(printed(), AllOf(HasSubstr("INFO net2"), Not(HasSubstr("INFO init2"))));
  configure("INFO", "^NET");
  WEIR_INFO(net, "net3");
  WEIR_INFO(init, "init3");
  EXPECT_THAT(printed(), AllOf(HasSubstr("INFO init3"), Not(HasSubstr("INFO net3"))));
}

TEST_F(Log, ArgumentsOfHiddenLinesAreNotEvaluated) {
  configure("WARN");
  int evaluated = 0;
  WEIR_INFO(init, "{}", ++evaluated);
  WEIR_TRACE(init, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST_F(Log, TimestampsAreConfigured) {
  LogSettings settings;
  settings.timestamp_levels = "INFO";
  settings.timestamp_format = "<%Y_%3f>";
  configure("INFO", "", settings);
  WEIR_INFO(init, "timed");
  WEIR_WARN("untimed");
  EXPECT_THAT(printed(), MatchesRegex("<[0-9]+ [0-9][0-9][0-9]>" + who_ + "\\[0\\] NCCL INFO timed\n\n" +
                                      who_ + ".*untimed\n"));
}

TEST_F(Log, UnknownWordsAreNamed) {
  configure("WARN", "INIT,NOISE");
  EXPECT_THAT(printed(), AllOf(HasSubstr("NOISE"), Not(HasSubstr("INIT"))));
  configure("CHATTY");
  EXPECT_EQ(log_level(), LogLevel::none);
}

TEST_F(Log, AFileThatCannotBeWrittenIsNamed) {
  ::testing::internal::CaptureStdout();
  configure_log({.level = "WARN",
                 .subsystems = "",
                 .file = "/no/such/folder/log",
                 .timestamp_format = "",
                 .timestamp_levels = ""});
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("NCCL_DEBUG_FILE=/no/such/folder/log"));
}

TEST_F(Log, TheLastErrorIsBoundedAndSurvivesOthers) {
  log_error(std::string(5000, 'x'));
  EXPECT_EQ(std::string(last_error()).size(), 1023u);
  const char* mine = last_error();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) {
        log_error("short");
        EXPECT_THAT(last_error(), StartsWith("short"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::string(mine).size(), 1023u);
  EXPECT_STREQ(last_error(), "short");
}

TEST_F(Log, AChildThatIsForkedWhileAThreadLogsCanLog) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "what a child of a process with threads may do, ThreadSanitizer does not support";
#endif
  configure("INFO");
  std::atomic<bool> enough{false};
  std::thread other([&] {
    while (!enough) WEIR_INFO(init, "from a thread");
  });
  for (int i = 0; i < 50 && !HasFailure(); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      WEIR_INFO(init, "from a child");
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "of child " << i;
  }
  enough = true;
  other.join();
}

}  // namespace
}  // namespace weir
