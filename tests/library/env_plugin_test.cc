// SPDX-License-Identifier: Apache-2.0
// An env plugin gives the values of NCCL's variables instead of the environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/library/processes.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class EnvPlugin : public ::testing::Test {
 protected:
  EnvPlugin() {
    char name[] = "/tmp/weir_env_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~EnvPlugin() override { std::filesystem::remove_all(folder_); }

  /// A process that makes a communicator of one rank and exits.
  void run(const std::string& plugin) const {
    EXPECT_TRUE(all_well(run_ranks(1, [&](const Rank& rank) {
      setenv("NCCL_ENV_PLUGIN", plugin.c_str(), 1);
      setenv("FAKE_ENV_FILE", (folder_ + "/calls").c_str(), 1);
      setenv("FAKE_NCCL_DEBUG", "INFO", 1);
      setenv("FAKE_NCCL_DEBUG_FILE", (folder_ + "/log").c_str(), 1);
      setenv("FAKE_NCCL_ALGO", "ring", 1);
      setenv("NCCL_PROTO", "LL", 1);
      setenv("NCCL_DEBUG", "WARN", 1);
      setenv("NCCL_DEBUG_FILE", (folder_ + "/warnings").c_str(), 1);
      ncclComm_t comm = rank.connect();
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
      exit(::testing::Test::HasFailure() ? 1 : 0);
    })));
  }
  std::string text(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + file).rdbuf();
    return text.str();
  }

 private:
  std::string folder_;
};

TEST_F(EnvPlugin, IsBegunOnceAskedForAllAndEndedAtTheExit) {
  for (const int version : {1, 2})
    run(WEIR_FAKE_PLUGINS "/libnccl-env-fake" + std::to_string(version) + ".so");
  EXPECT_THAT(text("calls"), AllOf(StartsWith("init 2."), HasSubstr("\nfinalize\ninit 2."),
                                   HasSubstr("+weir"), EndsWith("\nfinalize\n")));
  EXPECT_THAT(text("log"),
              AllOf(HasSubstr("NCCL_ALGO set by env plugin fake env to ring"), Not(HasSubstr("NCCL_PROTO"))));
  EXPECT_EQ(text("warnings"), "");
}

TEST_F(EnvPlugin, ThatIsNotThereIsAWarning) {
  run("nobody");
  EXPECT_THAT(text("warnings"), HasSubstr("NCCL_ENV_PLUGIN=nobody: could not find nobody, "
                                          "libnccl-env-nobody.so, librccl-env-nobody.so; the environment is "
                                          "read directly"));
}

}  // namespace
}  // namespace weir::testing
