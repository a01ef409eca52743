// SPDX-License-Identifier: Apache-2.0
// Ranks that go on without those that died or stopped, as processes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/queries.h"
#include "src/core/communicator/runtime.h"
#include "tests/core/rank.h"

namespace weir::core {
namespace {

using testing::Processes;
using testing::RootProcess;

struct Case {
  int ranks = 4;
  std::vector<Rank> victims;
  int signal = SIGKILL;
  std::string transports = "loop,shm,cma,tcp";
  bool inside = false;          ///< victims go while the others are in a collective
  Rank second = -1;             ///< goes when the first ones are known to be gone, before the shrink
  std::vector<int> hosts = {};  ///< by rank; empty: one host
};

Status sum_of_ranks(Communicator& communicator, size_t count, long& sum) {
  std::vector<int64_t> values(count, communicator.rank() + 1);
  const Operation operation =
      CollectiveOp{.type = DataType::int64, .input = values.data(), .output = values.data(), .count = count};
  WEIR_TRY(communicator.run({&operation, 1}));
  sum = values[count / 2];
  return {};
}

/// Asks who is gone, and shrinks, until the ranks agree.
Result<std::unique_ptr<Communicator>> shrink(Runtime& runtime, Communicator& communicator, size_t least) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto presences = presences_of(communicator);
    WEIR_TRY(presences.status());
    std::vector<Rank> gone;
    for (Rank rank = 0; rank < communicator.size(); ++rank)
      if ((*presences)[static_cast<size_t>(rank)] != Presence::present) gone.push_back(rank);
    if (gone.size() < least) continue;
    auto smaller = std::make_unique<Communicator>(runtime, ShrinkOrigin{&communicator, gone, true}, Config());
    if (smaller->connect().ok()) return smaller;
  }
  return Status(Code::remote_error, "the ranks do not agree");
}

void take_part(const Case& what, const UniqueId& id, int rank, const Processes::Voice& voice) {
  Options options;
  options.transports = what.transports;
  options.peer_timeout_s = 2;
  if (!what.hosts.empty()) options.host_id = fmt::format("host {}", what.hosts[static_cast<size_t>(rank)]);
  Runtime runtime(options);
  Communicator communicator(runtime, IdOrigin{id, what.ranks, rank}, {});
  long sum = 0;
  Status status = communicator.connect();
  if (status.ok()) status = sum_of_ranks(communicator, 1000, sum);
  voice.say(status.ok() ? fmt::format("sum {}", sum) : status.message());
  const bool goes = std::ranges::find(what.victims, rank) != what.victims.end();
  if (goes && !what.inside) raise(what.signal);
  while (status.ok()) {
    // In the middle of a collective: a peer has begun, and is waited for.
    if (goes)
      std::thread([&] {
        usleep(20'000);
        raise(what.signal);
      }).detach();
    status = sum_of_ranks(communicator, 300'000, sum);
  }
  voice.say(status.message());
  if (rank == what.second) raise(SIGKILL);
  auto smaller = shrink(runtime, communicator, what.victims.size());
  if (!smaller.ok()) return voice.say(smaller.status().message());
  status = sum_of_ranks(**smaller, 300'000, sum);
  if (!status.ok()) return voice.say(status.message());
  voice.say(fmt::format("rank {} of {}, sum {}", (*smaller)->rank(), (*smaller)->size(), sum));
}

void expect_survivors(const Case& what) {
  SCOPED_TRACE(fmt::format("{}, {} ranks, signal {}", what.transports, what.ranks, what.signal));
  const RootProcess root;
  const UniqueId id = root.id();
  Processes all(what.ranks,
                [&](int rank, const Processes::Voice& voice) { take_part(what, id, rank, voice); });
  std::vector<Rank> left;
  for (Rank rank = 0; rank < what.ranks; ++rank) {
    EXPECT_EQ(all.line(rank), fmt::format("sum {}", what.ranks * (what.ranks + 1) / 2));
    if (rank != what.second && std::ranges::find(what.victims, rank) == what.victims.end())
      left.push_back(rank);
  }
  const int ranks = static_cast<int>(left.size());
  for (size_t at = 0; at < left.size(); ++at) {
    const std::string error = all.line(left[at]);
    EXPECT_THAT(error, ::testing::AnyOf(::testing::HasSubstr("is dead"), ::testing::HasSubstr("is stopped"),
                                        ::testing::HasSubstr("broke")));
    EXPECT_EQ(all.line(left[at]), fmt::format("rank {} of {}, sum {}", at, ranks, ranks * (ranks + 1) / 2));
  }
}

TEST(ShrinkProcesses, WithoutADeadRank) {
  for (const char* transports : {"loop,shm", "loop,cma", "loop,tcp"})
    expect_survivors({.ranks = 4, .victims = {2}, .transports = transports});
}

TEST(ShrinkProcesses, WithoutRankZero) { expect_survivors({.ranks = 3, .victims = {0}}); }

TEST(ShrinkProcesses, WithoutOnesThatDieInACollective) {
  expect_survivors({.ranks = 5, .victims = {1, 4}, .inside = true});
}

TEST(ShrinkProcesses, WithoutAStoppedRank) {
  expect_survivors({.ranks = 4, .victims = {1}, .signal = SIGSTOP});
}

TEST(ShrinkProcesses, WhenAnotherOneDiesMeanwhile) {
  expect_survivors({.ranks = 5, .victims = {3}, .second = 1});
}

TEST(ShrinkProcesses, DownToOne) { expect_survivors({.ranks = 3, .victims = {0, 2}}); }

TEST(ShrinkProcesses, AcrossHosts) {
  expect_survivors({.ranks = 4, .victims = {1}, .inside = true, .hosts = {0, 0, 1, 1}});
}

}  // namespace
}  // namespace weir::core
