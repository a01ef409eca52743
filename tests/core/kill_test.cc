// Ranks that die or stop while they join, at every phase that can be told apart from outside, and at random
// moments.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "src/base/host.h"
#include "src/core/bootstrap.h"
#include "src/core/root_link.h"
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

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

UniqueId free_fixed_id() {
  auto probe = Socket::listen(SocketAddress::loopback(AF_INET, 0));
  return Roots::fixed_id(*probe->local_address());
}

void join(const UniqueId& id, int ranks, int rank, const Processes::Voice& voice) {
  Site site(kQuick);
  voice.say("begins");
  voice.say(words(Bootstrap::join(site.spec(id, ranks, rank)).status()));
}

/// Ranks 0 and 1 of 3 join, rank 2 only begins to; `number` hits rank 1. Returns what rank 0 says.
std::string hit_a_waiting_rank(int number) {
  const RootProcess root(kQuick);
  const UniqueId id = root.id();
  Processes processes(2, [&](int rank, const Processes::Voice& voice) { join(id, 3, rank, voice); });
  for (const int rank : {0, 1}) EXPECT_EQ(processes.line(rank), "begins");
  sleep_ms(100);
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

/// Rank 1 of 3 knows the doors, but does not go on: it dies or stops there. What the others say.
std::vector<std::string> hit_between_doors_and_exchange(int number) {
  const RootProcess root(kQuick);
  const UniqueId id = root.id();
  Processes processes(3, [&](int rank, const Processes::Voice& voice) {
    if (rank != 1) return join(id, 3, rank, voice);
    Site site(kQuick);
    root_wire::Hello hello;
    hello.nonce = id.nonce;
    hello.rank = 1;
    hello.ranks = 3;
    hello.peer = {site.door->address(), 1, static_cast<int32_t>(getpid()), short_hostname()};
    auto link = RootLink::open(id, hello, kQuick, nullptr);
    while (link.ok() && !(*link)->doors() && (*link)->serve(10).ok()) {
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

TEST(Kill, BetweenTheDoorsAndTheExchange) {
  for (const std::string& said : hit_between_doors_and_exchange(SIGKILL))
    EXPECT_THAT(said, HasSubstr("ended"));
}

TEST(Stop, BetweenTheDoorsAndTheExchange) {
  for (const std::string& said : hit_between_doors_and_exchange(SIGSTOP))
    EXPECT_THAT(said, HasSubstr("is stopped"));
}

/// Rank 0 of 4 hosts the root; ranks 1 and 2 have joined when it is hit.
std::vector<std::string> hit_the_root(int number) {
  const UniqueId id = free_fixed_id();
  Processes processes(3, [&](int rank, const Processes::Voice& voice) { join(id, 4, rank, voice); });
  for (const int rank : {0, 1, 2}) EXPECT_EQ(processes.line(rank), "begins");
  sleep_ms(300);
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
    EXPECT_THAT(said,
                AllOf(StartsWith("6: rank 0 at NCCL_COMM_ID=127.0.0.1:"), HasSubstr("has been silent")));
  }
}

TEST(Kill, NobodyGathersAtAFixedAddress) {
  const UniqueId id = free_fixed_id();
  Timeouts timeouts = kQuick;
  timeouts.init_ms = 300;
  Site site(timeouts);
  const Status status = Bootstrap::join(site.spec(id, 2, 1)).status();
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("rank 0 at NCCL_COMM_ID="), HasSubstr("cannot be reached")));
}

/// Joins and exchanges for ever; one rank is hit at a random moment. All others must name it, and nobody
/// else.
void hit_at_random(int number, int turns) {
  std::mt19937 random(static_cast<unsigned>(number));
  constexpr int kRanks = 5;
  Timeouts timeouts = kQuick;
  timeouts.init_ms = 4000;
  for (int turn = 0; turn < turns; ++turn) {
    const RootProcess root(timeouts);
    const UniqueId id = root.id();
    Processes processes(kRanks, [&](int rank, const Processes::Voice& voice) {
      Site site(timeouts);
      voice.say("begins");
      auto joined = Bootstrap::join(site.spec(id, kRanks, rank));
      Status status = joined.status();
      while (status.ok()) status = (*joined)->barrier();
      voice.say(words(status));
    });
    const int victim = static_cast<int>(random() % kRanks);
    for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(processes.line(rank), "begins");
    const unsigned microseconds = random() % 10'000;
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    processes.signal(victim, number);
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == victim) continue;
      // Hit before it said hello, it is only missing.
      EXPECT_THAT(
          processes.line(rank),
          AllOf(StartsWith("6: "), AnyOf(names(processes, victim),
                                         HasSubstr(fmt::format("(WEIR_INIT_TIMEOUT): rank {}", victim)))))
          << "turn " << turn << ", after " << microseconds << " us";
    }
  }
}

TEST(Kill, AtRandomMoments) { hit_at_random(SIGKILL, 15); }

TEST(Stop, AtRandomMoments) { hit_at_random(SIGSTOP, 3); }

}  // namespace
}  // namespace weir::core
