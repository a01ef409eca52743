// SPDX-License-Identifier: Apache-2.0
// Ranks that die or stop while they join, at every phase that can be told apart from outside, and at random
// moments.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "src/core/bootstrap/bootstrap.h"
#include "src/core/bootstrap/root_link.h"
#include "tests/core/processes.h"
#include "tests/core/rank.h"
#include "tests/core/status_words.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::kQuick;
using testing::names;
using testing::Processes;
using testing::RootProcess;
using testing::Site;
using ::testing::StartsWith;
using testing::words;

void join(const UniqueId& id, int ranks, int rank, const Processes::Voice& voice) {
  Site site(kQuick);
  voice.say("begins");
  voice.say(words(Bootstrap::join(site.spec(id, ranks, rank)).status()));
}

/// Ranks 0 and 1 of 3 are at the root, rank 2 never comes; `number` hits rank 1. Returns what rank 0 says.
std::string hit_a_waiting_rank(int number) {
  const RootProcess root(kQuick);
  const UniqueId id = root.id();
  Processes processes(2, [&](int rank, const Processes::Voice& voice) {
    if (rank == 0) return join(id, 3, rank, voice);
    const Site site(kQuick);
    const auto link = testing::come_to_the_root(site, id, 3, 1);
    voice.say(words(link.status()));
    while (link.ok() && (*link)->serve(10).ok()) {
    }
  });
  EXPECT_EQ(processes.line(0), "begins");
  EXPECT_EQ(processes.line(1), "ok");
  testing::await_connections(id.root.port(), 2);
  processes.signal(1, number);
  const std::string said = processes.line(0);
  EXPECT_THAT(said, names(processes, 1));
  return said;
}

TEST(Kill, WhileOthersAreMissing) {
  EXPECT_THAT(hit_a_waiting_rank(SIGKILL), AllOf(StartsWith("6: "), HasSubstr("ended")));
}

TEST(Stop, WhileOthersAreMissing) {
  EXPECT_THAT(hit_a_waiting_rank(SIGSTOP), AllOf(StartsWith("6: "), HasSubstr("is stopped or out of reach")));
}

/// Rank 1 of 3 knows the listeners, but does not go on: it dies or stops there. What the others say.
std::vector<std::string> hit_between_listeners_and_exchange(int number) {
  const RootProcess root(kQuick);
  const UniqueId id = root.id();
  Processes processes(3, [&](int rank, const Processes::Voice& voice) {
    if (rank != 1) return join(id, 3, rank, voice);
    const Site site(kQuick);
    const auto link = testing::come_to_the_root(site, id, 3, 1);
    while (link.ok() && !(*link)->listeners() && (*link)->serve(10).ok()) {
    }
    raise(number);
  });
  std::vector<std::string> said;
  for (const int rank : {0, 2}) {
    EXPECT_EQ(processes.line(rank), "begins");
    said.push_back(processes.line(rank));
    EXPECT_THAT(said.back(), names(processes, 1));
  }
  return said;
}

TEST(Kill, BetweenTheListenersAndTheExchange) {
  for (const std::string& said : hit_between_listeners_and_exchange(SIGKILL))
    EXPECT_THAT(said, HasSubstr("ended"));
}

TEST(Stop, BetweenTheListenersAndTheExchange) {
  for (const std::string& said : hit_between_listeners_and_exchange(SIGSTOP))
    EXPECT_THAT(said, HasSubstr("is stopped"));
}

/// Rank 0 of 4 hosts the root; ranks 1 and 2 have joined when it is hit.
std::vector<std::string> hit_the_root(int number) {
  const UniqueId id = Roots::fixed_id(testing::quiet_address());
  Processes processes(3, [&](int rank, const Processes::Voice& voice) { join(id, 4, rank, voice); });
  for (const int rank : {0, 1, 2}) EXPECT_EQ(processes.line(rank), "begins");
  testing::await_connections(id.root.port(), 3);
  processes.signal(0, number);
  return {processes.line(1), processes.line(2)};
}

TEST(Kill, TheRoot) {
  for (const std::string& said : hit_the_root(SIGKILL)) {
    EXPECT_THAT(said, AllOf(StartsWith("6: rank 0 at NCCL_COMM_ID=127.0.0.1:"), HasSubstr("ended")));
  }
}

TEST(Stop, TheRoot) {
  for (const std::string& said : hit_the_root(SIGSTOP)) {
    EXPECT_THAT(
        said, AllOf(StartsWith("6: rank 0 at NCCL_COMM_ID=127.0.0.1:"), HasSubstr("has not answered for ")));
  }
}

TEST(Kill, NobodyGathersAtAFixedAddress) {
  const UniqueId id = Roots::fixed_id(testing::quiet_address());
  Timeouts timeouts = kQuick;
  timeouts.init_ms = 300;
  Site site(timeouts);
  const Status status = Bootstrap::join(site.spec(id, 2, 1)).status();
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("rank 0 at NCCL_COMM_ID="), HasSubstr("cannot be reached")));
}

constexpr int kManyRanks = 5;

/// Ranks that join and exchange for ever; one of them is hit at a random moment.
class RandomHit {
 public:
  RandomHit(int number, std::mt19937& random)
      : root_(kTimeouts), victim_(static_cast<int>(random() % kManyRanks)), after_us_(random() % 10'000) {
    processes_ = std::make_unique<Processes>(kManyRanks, [&](int rank, const Processes::Voice& voice) {
      Site site(kTimeouts);
      voice.say("begins");
      auto joined = Bootstrap::join(site.spec(root_.id(), kManyRanks, rank));
      Status status = joined.status();
      while (status.ok()) status = (*joined)->barrier();
      voice.say(words(status));
    });
    for (int rank = 0; rank < kManyRanks; ++rank) EXPECT_EQ(processes_->line(rank), "begins");
    std::this_thread::sleep_for(std::chrono::microseconds(after_us_));
    processes_->signal(victim_, number);
  }
  /// All others must name it, and nobody else.
  void expect_named() {
    // Hit before it said hello, it is only missing.
    const auto missing = HasSubstr(fmt::format("(WEIR_INIT_TIMEOUT): rank {}", victim_));
    for (int rank = 0; rank < kManyRanks; ++rank) {
      if (rank == victim_) continue;
      EXPECT_THAT(processes_->line(rank),
                  AllOf(StartsWith("6: "), AnyOf(names(*processes_, victim_), missing)))
          << "after " << after_us_ << " us";
    }
  }

 private:
  static constexpr Timeouts kTimeouts{.init_ms = 4000, .peer_ms = kQuick.peer_ms, .stuck_ms = 0};

  const RootProcess root_;
  const int victim_;
  const unsigned after_us_;
  std::unique_ptr<Processes> processes_;
};

TEST(Kill, AtRandomMoments) {
  std::mt19937 random(SIGKILL);
  for (int turn = 0; turn < 15; ++turn) RandomHit(SIGKILL, random).expect_named();
}

/// All at once, because each takes as long as a silent rank is waited for.
TEST(Stop, AtRandomMoments) {
  std::mt19937 random(SIGSTOP);
  std::vector<std::unique_ptr<RandomHit>> turns;
  for (int turn = 0; turn < 3; ++turn) turns.push_back(std::make_unique<RandomHit>(SIGSTOP, random));
  for (const auto& turn : turns) turn->expect_named();
}

}  // namespace
}  // namespace weir::core
