// SPDX-License-Identifier: Apache-2.0
/// The function of weir/net_stats.h, as a caller sees it. What it counts: tests/core, tests/library.
#include "weir/net_stats.h"

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(NetStats, AloneNothingIsSent) {
  const Alone comm;
  weirNetStats_t stats;
  std::memset(&stats, 0xff, sizeof stats);
  ASSERT_EQ(weirCommNetStats(comm, &stats, sizeof stats), ncclSuccess) << last_sentence();
  const weirNetStats_t nothing = {};
  EXPECT_EQ(std::memcmp(&stats, &nothing, sizeof stats), 0);
}

TEST(NetStats, LaterVersionsOfTheStructAreZeroWhereUnknown) {
  const Alone comm;
  struct {
    weirNetStats_t known;
    uint64_t later[2];
    uint64_t not_theirs;
  } stats;
  std::memset(&stats, 0xff, sizeof stats);
  ASSERT_EQ(weirCommNetStats(comm, &stats.known, sizeof stats - sizeof stats.not_theirs), ncclSuccess);
  EXPECT_EQ(stats.later[0], 0u);
  EXPECT_EQ(stats.later[1], 0u);
  EXPECT_EQ(stats.not_theirs, UINT64_MAX);
}

TEST(NetStats, EarlierVersionsOfTheStructAreFilled) {
  const Alone comm;
  uint64_t stats[11];
  std::memset(stats, 0xff, sizeof stats);
  ASSERT_EQ(weirCommNetStats(comm, reinterpret_cast<weirNetStats_t*>(stats), 10 * sizeof(uint64_t)),
            ncclSuccess);
  EXPECT_EQ(stats[9], 0u);
  EXPECT_EQ(stats[10], UINT64_MAX) << "not theirs";
}

TEST(NetStats, WrongArgumentsAreRefusedWithASentence) {
  weirNetStats_t stats;
  EXPECT_EQ(weirCommNetStats(nullptr, &stats, sizeof stats), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("weirCommNetStats : comm argument is NULL"));
  ncclComm_t freed = nullptr;
  {
    const Alone comm;
    freed = comm;
    EXPECT_EQ(weirCommNetStats(comm, nullptr, sizeof stats), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("weirCommNetStats : stats argument is NULL"));
    for (const size_t size : {size_t{0}, size_t{72}, sizeof stats + 1, SIZE_MAX}) {
      EXPECT_EQ(weirCommNetStats(comm, &stats, size), ncclInvalidArgument);
      EXPECT_THAT(last_sentence(),
                  AllOf(HasSubstr("size is " + std::to_string(size)), HasSubstr("is 88 here")));
    }
  }
  EXPECT_EQ(weirCommNetStats(freed, &stats, sizeof stats), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("it was destroyed or aborted"));
  EXPECT_EQ(weirCommNetStats(reinterpret_cast<ncclComm_t>(&stats), &stats, sizeof stats),
            ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("was never a communicator"));
}

TEST(NetStats, AFinalizedCommunicatorMayBeAsked) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  ASSERT_EQ(ncclCommFinalize(comm), ncclSuccess);
  weirNetStats_t stats;
  EXPECT_EQ(weirCommNetStats(comm, &stats, sizeof stats), ncclSuccess) << last_sentence();
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(NetStats, OtherThreadsMayAskWhileOneIsInside) {
  with_ranks(2, [](ncclComm_t comm, int) {
    std::atomic<bool> done{false};
    std::thread asker([&] {
      weirNetStats_t stats;
      while (!done) EXPECT_EQ(weirCommNetStats(comm, &stats, sizeof stats), ncclSuccess) << last_sentence();
    });
    float value = 1;
    for (int i = 0; i < 200; ++i)
      EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat, ncclMax, comm, nullptr), ncclSuccess);
    done = true;
    asker.join();
  });
}

}  // namespace
}  // namespace weir::api
