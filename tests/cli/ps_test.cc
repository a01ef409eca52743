// SPDX-License-Identifier: Apache-2.0
// weir ps, top and trace on processes that work, wait, stop and die; and the files that they dump.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/late_rank.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::kLate;
using weir::testing::kRanks;
using weir::testing::LateRank;
using weir::testing::weir_command;

class Ps : public LateRank {
 protected:
  nlohmann::json dump_of(int rank) const {
    const std::string path = fmt::format("{}/{}.json", folder_, processes_->pid(rank));
    const Deadline deadline = Deadline::in_ms(20'000);
    while (!std::filesystem::exists(path) && !deadline.over())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ifstream file(path);
    return nlohmann::json::parse(std::string(std::istreambuf_iterator<char>(file), {}), nullptr, false);
  }
};

TEST_F(Ps, SaysWhoWaitsForWhomAndWhoIsBehind) {
  start({});
  const CommandResult found = until("ps" + pids(), "ranks 0-1 wait for 2");
  EXPECT_EQ(found.code, 0);
  EXPECT_THAT(found.text, AllOf(HasSubstr("\"layers\": 3 ranks"), HasSubstr("ranks 0-1 wait for 2"),
                                HasSubstr("AllReduce(count 1000, float32"), HasSubstr("<1/1"),
                                HasSubstr("2/1"), HasSubstr(fmt::format("{}", processes_->pid(kLate)))));
  const CommandResult json = weir_command("ps --json" + pids());
  const auto parsed = nlohmann::json::parse(json.text, nullptr, false);
  ASSERT_FALSE(parsed.is_discarded()) << json.text;
  EXPECT_EQ(parsed["processes"].size(), size_t{kRanks});
}

TEST_F(Ps, OneProcessLeadsToTheOthers) {
  start({});
  const CommandResult found = until(fmt::format("ps {}", processes_->pid(kLate)), "ranks 0-1 wait for 2");
  EXPECT_THAT(found.text, HasSubstr("ranks 0-1 wait for 2"));
}

TEST_F(Ps, AStoppedProcessIsSaidToBe) {
  Options patient;
  patient.peer_timeout_s = 600;
  start(patient);
  processes_->signal(kLate, SIGSTOP);
  const CommandResult found = until("ps --timeout 500" + pids(), "wait for 2");
  EXPECT_EQ(found.code, 1) << "somebody does not answer";
  EXPECT_THAT(found.text, AllOf(HasSubstr(fmt::format("process {} on", processes_->pid(kLate))),
                                HasSubstr("is stopped"), HasSubstr("wait for 2")));
}

TEST_F(Ps, AFailureLeavesFilesThatSayWhy) {
  Options options;
  options.dump_file = folder_ + "/%p.json";
  start(options);
  processes_->signal(kLate, SIGKILL);
  for (const int rank : {0, 1}) {
    EXPECT_THAT(processes_->line(rank), HasSubstr("is dead"));
    const nlohmann::json dump = dump_of(rank);
    ASSERT_TRUE(dump.is_object());
    const auto& communicator = dump["communicators"][0];
    EXPECT_EQ(communicator["state"], "failed");
    EXPECT_EQ(communicator["culprit"], kLate);
    EXPECT_EQ(communicator["last"]["call"], 2);
    EXPECT_EQ(communicator["last"]["ended"], false) << "it has failed";
    EXPECT_GT(communicator["last"]["took_ns"], 0);
  }
  const std::string files =
      fmt::format("'{0}/{1}.json' '{0}/{2}.json'", folder_, processes_->pid(0), processes_->pid(1));
  const CommandResult trace = weir_command("trace " + files);
  EXPECT_EQ(trace.code, 0);
  const auto parsed = nlohmann::json::parse(trace.text, nullptr, false);
  ASSERT_FALSE(parsed.is_discarded()) << trace.text;
  size_t operations = 0;
  double first = 1e9;
  for (const auto& event : parsed["traceEvents"]) {
    if (event["ph"] == "M") continue;
    ++operations;
    first = std::min(first, event["ts"].get<double>());
  }
  EXPECT_EQ(operations, 4u) << "two of each process";
  EXPECT_EQ(first, 0);
  EXPECT_GT(parsed["otherData"]["begin_ns"], 1'700'000'000'000'000'000);
}

TEST_F(Ps, ASignalMakesAProcessSayWhatItDoes) {
  Options options;
  options.dump_file = folder_ + "/%p.json";
  options.dump_signal = SIGUSR2;
  start(options);
  until("ps" + pids(), "ranks 0-1 wait for 2");
  processes_->signal(0, SIGUSR2);
  const nlohmann::json dump = dump_of(0);
  ASSERT_TRUE(dump.is_object());
  using std::filesystem::perms;
  const auto file = fmt::format("{}/{}.json", folder_, processes_->pid(0));
  EXPECT_EQ(std::filesystem::status(file).permissions(), perms::owner_read | perms::owner_write);
  EXPECT_EQ(dump["communicators"][0]["state"], "waiting");
  EXPECT_THAT(dump["communicators"][0]["waiting_for"].dump(), HasSubstr("2"));
  EXPECT_EQ(weir_command(fmt::format("ps {}", processes_->pid(0))).code, 0) << "it goes on";
}

TEST_F(Ps, TopTellsOfLinks) {
  Options options;
  options.transports = "tcp";
  start(options);
  const CommandResult top = weir_command("top --once -i 0.05" + pids());
  EXPECT_EQ(top.code, 0);
  EXPECT_THAT(top.text, AllOf(HasSubstr("tcp"), HasSubstr("->")));
}

TEST_F(Ps, TopTellsWhoComesLastToCollectives) {
  constexpr int kSlow = 1;
  using weir::testing::kRanks;
  using weir::testing::Processes;
  processes_ = std::make_unique<Processes>(kRanks, [&](int rank, const Processes::Voice& voice) {
    Options options;
    options.calibration = false;
    core::Runtime runtime(options);
    core::Communicator communicator(runtime, core::IdOrigin{root_.id(), kRanks, rank}, core::Config());
    Status status = communicator.connect();
    voice.say(status.ok() ? "ok" : status.message());
    std::vector<float> values(100'000);  // large enough to be timed each time
    const core::Operation operation =
        core::CollectiveOp{.input = values.data(), .output = values.data(), .count = values.size()};
    while (status.ok()) {
      if (rank == kSlow) usleep(5000);
      status = communicator.run({&operation, 1});
    }
  });
  for (int rank = 0; rank < kRanks; ++rank) ASSERT_EQ(processes_->line(rank), "ok");
  EXPECT_THAT(until("top --once -i 0.2" + pids(), "rank 1 was last in ").text,
              ::testing::ContainsRegex("communicator [0-9a-f]+: rank 1 was last in [0-9]+ % of [0-9]+ timed "
                                       "calls, [0-9.]+ [mu]s behind the others\n"));
}

TEST(Trace, SaysWhatIsWrongWithAFile) {
  const CommandResult none = weir_command("trace /no/such/file");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.text, HasSubstr("/no/such/file cannot be read"));
  const CommandResult other = weir_command("trace /proc/version");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.text, HasSubstr("/proc/version: "));
}

TEST(PsAlone, ProcessesThatDoNotUseItAreNotFound) {
  const CommandResult found = weir_command(fmt::format("ps {}", getpid()));
  EXPECT_EQ(found.code, 0);
  EXPECT_THAT(found.text, HasSubstr("no process of this host"));
}

}  // namespace
}  // namespace weir::cli
