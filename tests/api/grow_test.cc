// SPDX-License-Identifier: Apache-2.0
/// ncclCommGrow with ranks as threads: newcomers join, wishes that contradict each other, nasty arguments.
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Calls act(comm, rank, id, has_id): on each old rank with its communicator, on each newcomer with NULL and
/// its rank. Rank `coordinator` has made the id.
void with_newcomers(int old_ranks, int newcomers, int coordinator,
                    const std::function<void(ncclComm_t, int, const ncclUniqueId&)>& act) {
  ncclUniqueId grown;
  std::latch made(1);
  std::vector<std::thread> threads;
  for (int rank = old_ranks; rank < old_ranks + newcomers; ++rank) {
    threads.emplace_back([&, rank] {
      made.wait();
      act(nullptr, rank, grown);
    });
  }
  with_ranks(old_ranks, [&](ncclComm_t comm, int rank) {
    if (rank == coordinator) {
      EXPECT_EQ(ncclCommGetUniqueId(comm, &grown), ncclSuccess) << last_sentence();
      made.count_down();
    }
    made.wait();
    act(comm, rank, grown);
  });
  for (std::thread& thread : threads) thread.join();
}

TEST(Grow, NewcomersJoinAndTheOthersKeepTheirRanks) {
  constexpr int kOld = 3, kNew = 2, kAll = kOld + kNew;
  for (const int coordinator : {0, 2}) {
    with_newcomers(kOld, kNew, coordinator, [&](ncclComm_t comm, int rank, const ncclUniqueId& id) {
      const bool is_old = comm != nullptr;
      ncclComm_t all = comm;
      ASSERT_EQ(ncclCommGrow(comm, kAll, !is_old || rank == coordinator ? &id : nullptr, is_old ? -1 : rank,
                             &all, nullptr),
                ncclSuccess)
          << last_sentence();
      int number = -1, count = -1;
      EXPECT_EQ(ncclCommUserRank(all, &number), ncclSuccess);
      EXPECT_EQ(ncclCommCount(all, &count), ncclSuccess);
      EXPECT_EQ(number, rank);
      EXPECT_EQ(count, kAll);
      EXPECT_EQ(sum_over(all, 1 << rank), (1 << kAll) - 1);
      if (is_old) {
        EXPECT_EQ(sum_over(comm, 1), kOld) << "the parent goes on";
      }
      EXPECT_EQ(ncclCommDestroy(all), ncclSuccess);
    });
  }
}

TEST(Grow, AgainAndAgainAndAfterAShrink) {
  with_newcomers(2, 1, 1, [](ncclComm_t comm, int rank, const ncclUniqueId& id) {
    ncclComm_t three = nullptr;
    ASSERT_EQ(ncclCommGrow(comm, 3, rank != 0 ? &id : nullptr, rank < 2 ? -1 : rank, &three, nullptr),
              ncclSuccess)
        << last_sentence();
    EXPECT_EQ(sum_over(three, rank), 3);
    if (rank != 1) {  // ranks 0 and 2 go on as 0 and 1
      int without[] = {1};
      ncclComm_t two = nullptr;
      ASSERT_EQ(ncclCommShrink(three, without, 1, &two, nullptr, NCCL_SHRINK_ABORT), ncclSuccess)
          << last_sentence();
      EXPECT_EQ(sum_over(two, rank), 2);
      EXPECT_EQ(ncclCommDestroy(two), ncclSuccess);
    }
    EXPECT_EQ(ncclCommDestroy(three), ncclSuccess);
  });
}

/// The rank that has asked its communicator for the id need not pass it on.
TEST(Grow, WithTheIdThatTheCommunicatorHasGiven) {
  with_newcomers(3, 1, 0, [](ncclComm_t comm, int rank, const ncclUniqueId& id) {
    ncclComm_t all = nullptr;
    ASSERT_EQ(
        ncclCommGrow(comm, 4, comm != nullptr ? nullptr : &id, comm != nullptr ? -1 : rank, &all, nullptr),
        ncclSuccess)
        << last_sentence();
    EXPECT_EQ(sum_over(all, rank), 0 + 1 + 2 + 3);
    EXPECT_EQ(ncclCommDestroy(all), ncclSuccess);
    if (comm == nullptr) return;
    EXPECT_EQ(ncclCommGrow(comm, 4, nullptr, -1, &all, nullptr), ncclInvalidArgument) << "it was used";
  });
}

TEST(Grow, NonBlocking) {
  with_newcomers(2, 1, 0, [](ncclComm_t comm, int rank, const ncclUniqueId& id) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t all = nullptr;
    ASSERT_EQ(ncclCommGrow(comm, 3, rank != 1 ? &id : nullptr, rank < 2 ? -1 : rank, &all, &config),
              ncclInProgress)
        << last_sentence();
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) ASSERT_EQ(ncclCommGetAsyncError(all, &state), ncclSuccess);
    EXPECT_EQ(state, ncclSuccess) << last_sentence();
    EXPECT_EQ(ncclCommDestroy(all), ncclSuccess);
  });
}

TEST(Grow, RanksThatContradictEachOtherAllLearnIt) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    ncclUniqueId id;
    ASSERT_EQ(ncclCommGetUniqueId(comm, &id), ncclSuccess) << last_sentence();
    ncclComm_t all = comm;
    EXPECT_EQ(ncclCommGrow(comm, rank == 1 ? 5 : 4, rank == 0 ? &id : nullptr, -1, &all, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(all, nullptr);
    EXPECT_EQ(ncclCommGrow(comm, 4, nullptr, -1, &all, nullptr), ncclInvalidArgument) << "no coordinator";
    EXPECT_EQ(ncclCommGrow(comm, 4, &id, -1, &all, nullptr), ncclInvalidArgument) << "ids that differ";
    EXPECT_EQ(sum_over(comm, 1), 3) << "the communicator is as before";
  });
}

TEST(Grow, ArgumentsThatAreWrongBeforeAnybodyIsAsked) {
  Alone comm;
  ncclUniqueId id;
  ASSERT_EQ(ncclCommGetUniqueId(comm, &id), ncclSuccess);
  ncclComm_t all = comm;
  for (const int ranks : {1, 0, -3}) {
    EXPECT_EQ(ncclCommGrow(comm, ranks, &id, -1, &all, nullptr), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("expected more than the current 1"));
    EXPECT_EQ(all, nullptr);
  }
  EXPECT_EQ(ncclCommGrow(comm, 2, &id, 0, &all, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), AllOf(HasSubstr("rank is 0"), HasSubstr("-1")));
  EXPECT_EQ(ncclCommGrow(comm, 2, &id, -1, nullptr, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGrow(nullptr, 2, nullptr, 1, &all, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("uniqueId"));
  EXPECT_EQ(ncclCommGrow(nullptr, 2, &id, 2, &all, nullptr), ncclInvalidArgument)
      << "a rank beyond the others";
  EXPECT_EQ(ncclCommGrow(nullptr, 2, &id, -1, &all, nullptr), ncclInvalidArgument);
  ncclUniqueId zeroes = {};
  EXPECT_EQ(ncclCommGrow(comm, 2, &zeroes, -1, &all, nullptr), ncclInvalidArgument);
  ncclConfig_t config = {};
  EXPECT_EQ(ncclCommGrow(comm, 2, &id, -1, &all, &config), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGetUniqueId(comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGetUniqueId(nullptr, &id), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGrow(reinterpret_cast<ncclComm_t>(&id), 2, &id, -1, &all, nullptr), ncclInvalidArgument);
}

}  // namespace
}  // namespace weir::api
