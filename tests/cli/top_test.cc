// SPDX-License-Identifier: Apache-2.0
// What weir top and weir metrics say of real ranks: the one that is a little slower, and the one with NaNs.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <regex>
#include <thread>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "tests/cli/weir_command.h"
#include "tests/core/rank.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kMany = 3;
constexpr int kSlow = 1;
constexpr size_t kValues = 20'000;  ///< of a call: large enough to be timed

/// Ranks that work for a while, rank kSlow longer than the others, and sum up, without an end. By how much
/// longer: other work on the machine, which disturbs all of them, has to disturb less.
class Training {
 public:
  explicit Training(bool nan) {
    Options options;
    options.calibration = false;
    options.check_values = 1;
    processes_ = std::make_unique<Processes>(kMany, [&](int rank, const Processes::Voice& voice) {
      core::Runtime runtime(options);
      core::Communicator communicator(runtime, core::IdOrigin{root_.id(), kMany, rank}, {});
      Status status = communicator.connect();
      voice.say(status.ok() ? "ok" : status.message());
      std::vector<float> values(kValues, 1);
      const core::Operation operation =
          core::CollectiveOp{.input = values.data(), .output = values.data(), .count = values.size()};
      while (status.ok()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(rank == kSlow ? 40 : 10));
        values.assign(values.size(), nan && rank == kSlow ? NAN : 1);
        status = communicator.run({&operation, 1});
      }
      voice.say(status.message());
    });
    for (int rank = 0; rank < kMany; ++rank) EXPECT_EQ(processes_->line(rank), "ok");
  }

  std::string pids() const {
    std::string out;
    for (int rank = 0; rank < kMany; ++rank) out += fmt::format(" {}", processes_->pid(rank));
    return out;
  }

 private:
  const RootProcess root_;
  std::unique_ptr<Processes> processes_;
};

/// The calls that the ranks have made.
uint64_t calls_of(const Training& training) {
  const std::string text = weir_command("metrics" + training.pids()).text;
  std::smatch found;
  if (!std::regex_search(text, found, std::regex("weir_calls_total\\{[^}]*\\} ([0-9]+)"))) return 0;
  return std::stoull(found[1]);
}

TEST(Top, ASlowRankIsNamed) {
  const Training training(false);
  const std::regex last("rank ([0-9]+) was last in ([0-9]+) % of ([0-9]+) timed calls, [0-9.]+ .s behind");
  std::string text;
  std::smatch found;
  do {
    text = weir_command("top --once -i 0.3" + training.pids()).text;
  } while (!std::regex_search(text, found, last) || std::stoi(found[3]) < 50 || std::stoi(found[2]) <= 60);
  EXPECT_EQ(found[1], std::to_string(kSlow)) << text;
}

TEST(Top, BytesThroughSharedMemoryAreShown) {
  const Training training(false);
  const std::regex row(" all_reduce +([0-9]+) +([0-9.]+) ([kM])B/s +[0-9.]+ [kMG]B\n");
  const Deadline deadline = Deadline::in_ms(20'000);
  std::string text;
  std::smatch found;
  do {
    text = weir_command("top --once -i 0.5" + training.pids()).text;
  } while ((!std::regex_search(text, found, row) || std::stoi(found[1]) < 5) && !deadline.over());
  ASSERT_FALSE(found.empty()) << text;
  const double bytes = std::stod(found[2]) * (found[3] == "k" ? 1e3 : 1e6);
  EXPECT_NEAR(bytes / std::stoi(found[1]), kValues * sizeof(float), kValues) << text;  // both are rounded
  EXPECT_THAT(text, ::testing::Not(HasSubstr("->"))) << "no channel carried anything";
}

TEST(Top, ARankWithNaNsIsNamed) {
  const Training training(true);
  const Deadline deadline = Deadline::in_ms(20'000);
  std::string text;
  do {
    text = weir_command("top --once -i 0.1" + training.pids()).text;
  } while (text.find("NaN") == std::string::npos && !deadline.over());
  EXPECT_THAT(text, HasSubstr("the input of rank 1 had NaN or infinity in "));
  EXPECT_LT(calls_of(training), 1000U);
  EXPECT_THAT(weir_command("metrics" + training.pids()).text,
              ::testing::ContainsRegex("weir_bad_value_calls_total\\{[^}]*rank=\"1\"[^}]*\\} [1-9]"));
}

}  // namespace
}  // namespace weir::testing
