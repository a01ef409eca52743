// SPDX-License-Identifier: Apache-2.0
/// Processes of which all but one wait for that one, for tests of what weir says of them.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "tests/cli/weir_command.h"
#include "tests/core/rank.h"

namespace weir::testing {

inline constexpr int kRanks = 3;
inline constexpr int kLate = 2;  ///< the rank that makes one call less

inline Status sum(core::Communicator& communicator) {
  std::vector<float> values(1000);
  const core::Operation operation =
      core::CollectiveOp{.input = values.data(), .output = values.data(), .count = values.size()};
  return communicator.run({&operation, 1});
}

/// All but the late one wait for it in their second call.
class LateRank : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/weir-ps-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override {
    processes_.reset();
    std::filesystem::remove_all(folder_);
  }

  void start(Options options) {
    options.calibration = false;
    processes_ = std::make_unique<Processes>(kRanks, [&](int rank, const Processes::Voice& voice) {
      core::Runtime runtime(options);
      core::Config config;
      config.name = "layers";
      core::Communicator communicator(runtime, core::IdOrigin{root_.id(), kRanks, rank}, config);
      Status status = communicator.connect();
      if (status.ok()) status = sum(communicator);
      voice.say(status.ok() ? "ok" : status.message());
      if (rank == kLate)
        for (;;) pause();
      status = sum(communicator);
      voice.say(status.ok() ? "ok" : status.message());
      pause();
    });
    for (int rank = 0; rank < kRanks; ++rank) ASSERT_EQ(processes_->line(rank), "ok");
  }
  std::string pids() const {
    std::string out;
    for (int rank = 0; rank < kRanks; ++rank) out += fmt::format(" {}", processes_->pid(rank));
    return out;
  }
  /// Calls a command until its output has the words; what it printed last.
  CommandResult until(const std::string& arguments, const std::string& words) const {
    CommandResult result;
    const Deadline deadline = Deadline::in_ms(20'000);
    do {
      result = weir_command(arguments);
    } while (result.text.find(words) == std::string::npos && !deadline.over());
    return result;
  }
  std::string folder_;
  const RootProcess root_;
  std::unique_ptr<Processes> processes_;
};

}  // namespace weir::testing
