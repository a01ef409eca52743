// SPDX-License-Identifier: Apache-2.0
// Ranks that have no more descriptors: they blame themselves, and nobody else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "src/base/shortage.h"
#include "src/core/diagnosis/watchdog.h"
#include "tests/base/limited_child.h"
#include "tests/core/processes.h"
#include "tests/core/rank.h"
#include "tests/core/status_words.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kQuick;
using testing::Processes;
using testing::Site;
using ::testing::StartsWith;

/// Begins an operation, and waits for `peer` until there is an error or `ms` have passed.
Status work_and_wait(Bootstrap& bootstrap, Rank peer, int64_t ms) {
  const int64_t start = now_ns();
  bootstrap.activity().begin(1, 0xabc, OperationSummary{.count = 8});
  while (now_ns() - start < ms * kNsPerMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    WEIR_TRY(bootstrap.watchdog().examine(peer, now_ns() - start));
  }
  return {};
}

TEST(WatchdogShortage, WhoHasNoDescriptorsLeftNamesItself) {
  testing::RootProcess root(kQuick);
  Processes ranks(3, [&](int rank, const Processes::Voice& voice) {
    Site site(kQuick);
    auto joined = Bootstrap::join(site.spec(root.id(), 3, rank));
    voice.say(testing::words(joined.status()));
    if (!joined.ok()) return;
    const Status ended =
        rank != 1 ? work_and_wait(**joined, 1, 20'000)
                  : (*joined)->watchdog().explain(0, system_failure("cannot make a socket", EMFILE));
    voice.say(testing::words(ended));
  });
  for (const int rank : {0, 1, 2}) EXPECT_EQ(ranks.line(rank), "ok");
  for (const int rank : {1, 0, 2}) {
    EXPECT_THAT(ranks.line(rank), AllOf(StartsWith(rank == 1 ? "2: " : "6: "), testing::names(ranks, 1),
                                        HasSubstr("this process has no file descriptors left")));
  }
}

/// Takes real time. The peer seems to be on another host, where only its answers show that it runs.
TEST(WatchdogShortage, WhoCannotAskForWantOfDescriptorsAccusesNobody) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer of undefined behaviour needs descriptors to look at objects";
#endif
  testing::RootProcess root(kQuick);
  Processes ranks(2, [&](int rank, const Processes::Voice& voice) {
    Site site(kQuick);
    auto joined = Bootstrap::join(site.spec(root.id(), 2, rank, static_cast<uint64_t>(rank + 1)));
    voice.say(testing::words(joined.status()));
    if (!joined.ok()) return;
    if (rank == 1) pause();
    testing::allow_no_descriptors();
    voice.say(testing::words(work_and_wait(**joined, 1, 2 * kQuick.peer_ms)));
  });
  for (const int rank : {0, 1}) EXPECT_EQ(ranks.line(rank), "ok");
  EXPECT_EQ(ranks.line(0), "ok");
}

}  // namespace
}  // namespace weir::core
