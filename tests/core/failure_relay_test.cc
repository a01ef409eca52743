// SPDX-License-Identifier: Apache-2.0
// Who gets to know of failures that it does not wait for, and whom it blames for ranks that leave.
#include "src/core/diagnosis/failure_relay.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "src/core/bootstrap/bootstrap.h"
#include "tests/core/processes.h"
#include "tests/core/rank.h"
#include "tests/core/status_words.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kQuick;
using testing::names;
using testing::Processes;
using testing::RootProcess;
using testing::Site;
using ::testing::StartsWith;
using testing::words;

using Then = std::function<std::string(std::unique_ptr<Bootstrap>, Site&)>;

/// Ends the set-up, and returns when all ranks have.
Status settled(Bootstrap& bootstrap) {
  bootstrap.end_set_up();
  return bootstrap.barrier();
}

/// A process that joins a communicator of `ranks`, says "ok", and then what `then` returns. `watched`: the
/// others see when it ends.
Processes::Body joins(const RootProcess& root, int ranks, bool watched, const Then& then) {
  return [&root, ranks, watched, then](int rank, const Processes::Voice& voice) {
    Site site(kQuick);
    auto joined = Bootstrap::join(site.spec(root.id(), ranks, rank));
    Status status = joined.status();
    if (status.ok() && watched) status = settled(**joined);
    voice.say(words(status));
    if (status.ok()) voice.say(then(std::move(*joined), site));
  };
}

/// The failure that this rank, which waits for nobody, is told of; "none" if there is none for so long.
std::string told(Bootstrap& bootstrap, int64_t ms) {
  const Deadline deadline = Deadline::in_ms(ms);
  while (!bootstrap.activity().failed() && !deadline.over())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return bootstrap.activity().failed() ? words(bootstrap.activity().status()) : "none";
}

/// Waits for `peer` until there is an error.
Status wait_for_peer(Bootstrap& bootstrap, Rank peer) {
  const int64_t start = now_ns();
  bootstrap.activity().begin(1, 0xabc, {.count = 8});
  while (now_ns() - start < 30'000 * kNsPerMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    WEIR_TRY(bootstrap.watchdog().examine(peer, now_ns() - start));
  }
  return {};
}

TEST(FailureRelay, ADeathThatNobodyWaitsForIsToldToAll) {
  const RootProcess root(kQuick);
  Processes ranks(5, joins(root, 5, true, [](std::unique_ptr<Bootstrap> bootstrap, Site&) {
                    return told(*bootstrap, 30'000);
                  }));
  for (int rank = 0; rank < 5; ++rank) ASSERT_EQ(ranks.line(rank), "ok");
  const int64_t start = now_ns();
  ranks.signal(2, SIGKILL);
  for (const int rank : {0, 1, 3, 4})
    EXPECT_THAT(ranks.line(rank), AllOf(StartsWith("6: "), names(ranks, 2), HasSubstr("is dead")));
  RecordProperty("ms", static_cast<int>((now_ns() - start) / kNsPerMs));
}

TEST(FailureRelay, WhoWaitsForAnotherNamesItsCallAsIfItHadFoundTheDeath) {
  const RootProcess root(kQuick);
  Processes ranks(3, joins(root, 3, true, [](std::unique_ptr<Bootstrap> bootstrap, Site&) {
                    return bootstrap->rank() == 0 ? words(wait_for_peer(*bootstrap, 1))
                                                  : told(*bootstrap, 30'000);
                  }));
  for (int rank = 0; rank < 3; ++rank) ASSERT_EQ(ranks.line(rank), "ok");
  ranks.signal(2, SIGKILL);
  EXPECT_THAT(ranks.line(0),
              AllOf(StartsWith("6: rank 2 "), names(ranks, 2),
                    HasSubstr(fmt::format("; found by rank 0 (pid {} on ", ranks.pid(0))),
                    HasSubstr("in ncclAllReduce(count 8"), HasSubstr("as call 1 of the communicator, after "),
                    HasSubstr(" s of waiting for rank 1")));
  EXPECT_THAT(ranks.line(1), AllOf(StartsWith("6: rank 2 "), names(ranks, 2), HasSubstr("is dead")));
}

TEST(FailureRelay, WhoLeavesInOrderDisturbsNobody) {
  const RootProcess root(kQuick);
  Processes ranks(3, joins(root, 3, true, [](std::unique_ptr<Bootstrap> bootstrap, Site&) {
                    if (bootstrap->rank() == 1) return std::string("left");
                    return told(*bootstrap, 1500);
                  }));
  for (int rank = 0; rank < 3; ++rank) ASSERT_EQ(ranks.line(rank), "ok");
  EXPECT_EQ(ranks.line(1), "left");
  EXPECT_TRUE(ranks.ended_well(1));
  for (const int rank : {0, 2}) EXPECT_EQ(ranks.line(rank), "none");
}

TEST(FailureRelay, WhoEndsByExitDisturbsNobody) {
  const RootProcess root(kQuick);
  Processes ranks(3, joins(root, 3, true, [](std::unique_ptr<Bootstrap> bootstrap, Site&) {
                    if (bootstrap->rank() == 1) std::exit(0);
                    return told(*bootstrap, 1500);
                  }));
  for (int rank = 0; rank < 3; ++rank) ASSERT_EQ(ranks.line(rank), "ok");
  for (const int rank : {0, 2}) EXPECT_EQ(ranks.line(rank), "none");
  EXPECT_EQ(ranks.line(1), "<end>");
}

/// Ranks 0 and 1 are in one communicator, 1 and 2 in another one. Rank 0 dies, and rank 1 ends because of
/// that.
TEST(FailureRelay, WhoLeavesBecauseOfAnotherCommunicatorIsNotBlamed) {
  const RootProcess root(kQuick);
  Processes ranks(3, joins(root, 3, false, [](std::unique_ptr<Bootstrap> all, Site& site) {
                    if (all->rank() == 0) {
                      for (;;) pause();
                    }
                    const bool middle = all->rank() == 1;
                    Result<std::unique_ptr<Bootstrap>> mine = Status(Code::internal_error, "not in it");
                    if (middle) mine = Bootstrap::subset(*all, {0, 1}, all->uid() + 1, nullptr);
                    const auto other = Bootstrap::subset(*all, {1, 2}, all->uid() + 2, nullptr);
                    const Status status = wait_for_peer(middle ? **mine : **other, 0);
                    site.activities.settle();
                    return words(status);
                  }));
  for (int rank = 0; rank < 3; ++rank) ASSERT_EQ(ranks.line(rank), "ok");
  ranks.signal(0, SIGKILL);
  EXPECT_THAT(ranks.line(1), AllOf(StartsWith("6: rank 0 "), names(ranks, 0), HasSubstr("is dead")));
  EXPECT_THAT(
      ranks.line(2),
      AllOf(StartsWith("6: rank 0 "), HasSubstr("has left because of a failure in another communicator"),
            HasSubstr(fmt::format("(pid {} on host ", ranks.pid(0))), HasSubstr("is dead")));
}

}  // namespace
}  // namespace weir::core
