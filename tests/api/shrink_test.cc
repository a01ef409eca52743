// SPDX-License-Identifier: Apache-2.0
/// ncclCommShrink with ranks as threads: whole lives, again and again, lists that are wrong or differ.
#include <algorithm>
#include <atomic>

#include "tests/api/ranks.h"
#include "weir/failures.h"
#include "weir/stream.h"

namespace weir::api {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(Shrink, RanksKeepTheirOrderAgainAndAgain) {
  with_ranks(5, [](ncclComm_t comm, int rank) {
    if (rank == 1) return;  // not asked
    int without[] = {1};
    ncclComm_t four = nullptr;
    ASSERT_EQ(ncclCommShrink(comm, without, 1, &four, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess)
        << last_sentence();
    int number = -1, count = -1;
    ASSERT_EQ(ncclCommUserRank(four, &number), ncclSuccess);
    ASSERT_EQ(ncclCommCount(four, &count), ncclSuccess);
    EXPECT_EQ(number, rank == 0 ? 0 : rank - 1);
    EXPECT_EQ(count, 4);
    EXPECT_EQ(sum_over(four, rank), 0 + 2 + 3 + 4);
    if (rank == 0 || rank == 4) {
      int both[] = {2, 1};  // in any order
      ncclComm_t two = nullptr;
      ASSERT_EQ(ncclCommShrink(four, both, 2, &two, nullptr, NCCL_SHRINK_ABORT), ncclSuccess)
          << last_sentence();
      EXPECT_EQ(sum_over(two, rank), 4);
      ncclComm_t one = nullptr;
      int other[] = {rank == 0 ? 1 : 0};
      ASSERT_EQ(ncclCommShrink(two, other, 1, &one, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess)
          << last_sentence();
      EXPECT_EQ(sum_over(one, rank), rank);
      EXPECT_EQ(ncclCommDestroy(one), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(two), ncclSuccess);
      ncclResult_t state = ncclSuccess;
      EXPECT_EQ(ncclCommGetAsyncError(four, &state), ncclSuccess);
      EXPECT_EQ(state, ncclSuccess) << "it was asked for";
      int value = 0;
      EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, four, nullptr), ncclInvalidUsage)
          << "what was aborted is not used again";
    }
    EXPECT_EQ(ncclCommDestroy(four), ncclSuccess);
  });
}

/// Ranks 0 and 2 wait for rank 1 on their streams, which never comes.
TEST(Shrink, EndsWhatIsUnderWayOnTheParent) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    if (rank == 1) return;
    weirStream_t stream = nullptr;
    ASSERT_EQ(weirStreamCreate(&stream), 0);
    std::vector<float> values(1000, 1);
    ASSERT_EQ(ncclAllReduce(values.data(), values.data(), values.size(), ncclFloat, ncclSum, comm,
                            reinterpret_cast<cudaStream_t>(stream)),
              ncclSuccess);
    int without[] = {1};
    ncclComm_t smaller = nullptr;
    ASSERT_EQ(ncclCommShrink(comm, without, 1, &smaller, nullptr, NCCL_SHRINK_ABORT), ncclSuccess)
        << last_sentence();
    EXPECT_NE(weirStreamSynchronize(stream), 0) << "of the parent";
    EXPECT_THAT(last_sentence(), HasSubstr("ncclCommShrink with NCCL_SHRINK_ABORT"));
    EXPECT_EQ(sum_over(smaller, rank), 2);
    EXPECT_EQ(ncclCommDestroy(smaller), ncclSuccess);
    (void)weirStreamDestroy(stream);
  });
}

TEST(Shrink, WaitsForWhatIsUnderWayUnlessItIsToAbort) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    weirStream_t stream = nullptr;
    ASSERT_EQ(weirStreamCreate(&stream), 0);
    std::vector<float> values(100'000, 1);
    ASSERT_EQ(ncclAllReduce(values.data(), values.data(), values.size(), ncclFloat, ncclSum, comm,
                            reinterpret_cast<cudaStream_t>(stream)),
              ncclSuccess);
    if (rank != 1) {
      int without[] = {1};
      ncclComm_t smaller = nullptr;
      ASSERT_EQ(ncclCommShrink(comm, without, 1, &smaller, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess)
          << last_sentence();
      EXPECT_THAT(values, Each(3.0F));
      EXPECT_EQ(ncclCommDestroy(smaller), ncclSuccess);
    }
    EXPECT_EQ(weirStreamDestroy(stream), 0);
  });
}

/// Not all ranks take part in each.
TEST(Shrink, WithoutOneRankAndThenWithoutAnother) {
  with_ranks(4, [](ncclComm_t comm, int rank) {
    for (int out = 0; out < 4; ++out) {
      for (int times = 0; times <= out && rank != out; ++times) {
        ncclComm_t smaller = nullptr;
        ASSERT_EQ(ncclCommShrink(comm, &out, 1, &smaller, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess)
            << last_sentence();
        EXPECT_EQ(sum_over(smaller, rank), 0 + 1 + 2 + 3 - out);
        EXPECT_EQ(ncclCommDestroy(smaller), ncclSuccess);
      }
    }
    EXPECT_EQ(sum_over(comm, rank), 0 + 1 + 2 + 3) << "the parent goes on";
  });
}

/// As programs do that ask the parent for the end of the set-up.
TEST(Shrink, TheParentIsInProgressUntilANonBlockingChildIsSetUp) {
  for (const int flags : {NCCL_SHRINK_DEFAULT, NCCL_SHRINK_ABORT}) {
    on_threads(3, [flags](int rank, const ncclUniqueId& id) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      ncclComm_t comm = nullptr, smaller = nullptr;
      ASSERT_EQ(ncclCommInitRank(&comm, 3, id, rank), ncclSuccess) << last_sentence();
      if (rank != 1) {
        int without[] = {1};
        ASSERT_EQ(ncclCommShrink(comm, without, 1, &smaller, &config, flags), ncclInProgress);
        ncclResult_t state = ncclInProgress;
        while (state == ncclInProgress) {
          ASSERT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
        }
        EXPECT_EQ(state, ncclSuccess) << last_sentence();
        int count = 0;
        EXPECT_EQ(ncclCommCount(smaller, &count), ncclSuccess) << last_sentence();
        EXPECT_EQ(count, 2);
        int value = rank;
        EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, smaller, nullptr), ncclInProgress)
            << "it can be used";
        EXPECT_EQ(ncclCommDestroy(smaller), ncclSuccess);
      }
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    });
  }
}

TEST(Shrink, NonBlocking) {
  on_threads(3, [](int rank, const ncclUniqueId& id) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const auto settled = [](ncclComm_t comm) {
      ncclResult_t state = ncclInProgress;
      while (state == ncclInProgress) {
        EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
      }
      return state;
    };
    ncclComm_t comm = nullptr, smaller = nullptr;
    ASSERT_EQ(ncclCommInitRankConfig(&comm, 3, id, rank, &config), ncclInProgress);
    ASSERT_EQ(settled(comm), ncclSuccess);
    if (rank != 0) {
      int without[] = {0};
      ASSERT_EQ(ncclCommShrink(comm, without, 1, &smaller, &config, NCCL_SHRINK_ABORT), ncclInProgress);
      ASSERT_EQ(settled(smaller), ncclSuccess) << last_sentence();
      int value = rank;
      EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, smaller, nullptr), ncclInProgress);
      EXPECT_EQ(settled(smaller), ncclSuccess);
      EXPECT_EQ(value, 3);
      EXPECT_EQ(ncclCommDestroy(smaller), ncclSuccess);
    }
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST(Shrink, ListsThatDifferAreToldApart) {
  with_ranks(4, [](ncclComm_t comm, int rank) {
    if (rank == 3) return;
    int without[] = {3, 2};
    ncclComm_t smaller = nullptr;
    const int count = rank == 0 ? 2 : 1;  // rank 0 leaves out rank 2, too, which does come
    EXPECT_EQ(ncclCommShrink(comm, without, count, &smaller, nullptr, NCCL_SHRINK_ABORT), ncclInvalidArgument)
        << rank;
    EXPECT_THAT(last_sentence(), HasSubstr("expected the same list on all"));
    EXPECT_EQ(smaller, nullptr);
    // Then with the same one.
    ASSERT_EQ(ncclCommShrink(comm, without, 1, &smaller, nullptr, NCCL_SHRINK_ABORT), ncclSuccess)
        << last_sentence();
    EXPECT_EQ(sum_over(smaller, rank), 3);
    EXPECT_EQ(ncclCommDestroy(smaller), ncclSuccess);
  });
}

TEST(Shrink, WrongListsAreRefusedWithASentence) {
  Together together(2);
  with_ranks(2, [&together](ncclComm_t comm, int rank) {
    ncclComm_t smaller = comm;
    const auto refused = [&](std::vector<int> list, int count, int flags = NCCL_SHRINK_DEFAULT) {
      EXPECT_EQ(ncclCommShrink(comm, list.empty() ? nullptr : list.data(), count, &smaller, nullptr, flags),
                ncclInvalidArgument);
      EXPECT_EQ(smaller, nullptr);
      return together.sentence();
    };
    EXPECT_THAT(refused({}, 1), HasSubstr("excludeRanksList argument is NULL"));
    EXPECT_THAT(refused({}, 0), HasSubstr("excludeRanksCount is 0; expected 1 to 1"));
    EXPECT_THAT(refused({0, 1}, 2), HasSubstr("excludeRanksCount is 2"));
    EXPECT_THAT(refused({rank}, 1), HasSubstr("which is the caller"));
    EXPECT_THAT(refused({2}, 1), HasSubstr("has rank 2 (0 <= rank < 2)"));
    EXPECT_THAT(refused({1 - rank}, 1, 7), HasSubstr("invalid shrinkFlags 7"));
    EXPECT_EQ(ncclCommShrink(comm, nullptr, 1, nullptr, nullptr, 0), ncclInvalidArgument);
    EXPECT_EQ(sum_over(comm, rank), 1) << "it is none the worse";
  });
  int other = 0;
  ncclComm_t smaller = nullptr;
  EXPECT_EQ(ncclCommShrink(nullptr, &other, 1, &smaller, nullptr, 0), ncclInvalidArgument);
}

/// Two wait for the third one, which revokes; then all make something new of it.
TEST(Revoke, EndsWhatIsUnderWayEverywhere) {
  Together together(3);
  with_ranks(3, [&together](ncclComm_t comm, int rank) {
    const auto revoke = [comm] {
      EXPECT_EQ(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), ncclSuccess) << last_sentence();
    };
    EXPECT_EQ(ncclCommRevoke(comm, 1), ncclInvalidArgument);
    EXPECT_EQ(sum_over(comm, rank), 3);
    EXPECT_THAT(together.sentence(), HasSubstr("revokeFlags"));
    int value = rank;
    if (rank == 2) {
      revoke();
    } else {
      EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclInvalidUsage);
    }
    EXPECT_THAT(together.sentence(), HasSubstr("was revoked (ncclCommRevoke) by rank 2"));
    if (rank != 2) revoke();
    EXPECT_EQ(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), ncclInvalidArgument);
    EXPECT_THAT(together.sentence(), HasSubstr("was already revoked"));
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclInvalidUsage);
    EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidArgument);
    EXPECT_THAT(together.sentence(), HasSubstr("expected ncclCommDestroy"));
    ncclComm_t split = nullptr, smaller = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, rank / 2, -rank, &split, nullptr), ncclSuccess) << last_sentence();
    EXPECT_EQ(sum_over(split, rank + 1), 3) << "1 + 2, or 3 alone";
    EXPECT_EQ(ncclCommDestroy(split), ncclSuccess);
    if (rank == 0) return;
    int without[] = {0};
    ASSERT_EQ(ncclCommShrink(comm, without, 1, &smaller, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess)
        << last_sentence();
    EXPECT_EQ(sum_over(smaller, rank), 3);
    EXPECT_EQ(ncclCommDestroy(smaller), ncclSuccess);
  });
  EXPECT_EQ(ncclCommRevoke(nullptr, 0), ncclSuccess);
}

/// Nobody asks for the state, and no call returns the error.
TEST(Failures, OfStreamsAreTheLastErrorAtOnce) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    weirStream_t stream = nullptr;
    ASSERT_EQ(weirStreamCreate(&stream), 0);
    std::vector<float> values(2000, 1);
    ASSERT_EQ(ncclAllReduce(values.data(), values.data(), rank == 0 ? 1000 : 2000, ncclFloat, ncclSum, comm,
                            reinterpret_cast<cudaStream_t>(stream)),
              ncclSuccess);
    while (last_sentence().find("ncclAllReduce(count 2000") == std::string::npos) std::this_thread::yield();
    EXPECT_THAT(last_sentence(), HasSubstr("ncclAllReduce(count 1000")) << "both calls are named";
    ncclResult_t state = ncclSuccess;
    while (state == ncclSuccess) ASSERT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclInvalidUsage);
    EXPECT_EQ(weirStreamDestroy(stream), 5);
  });
}

TEST(Failures, StatesOfRanks) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    int states[3] = {-1, -1, -1};
    ASSERT_EQ(weirCommRankStates(comm, states), 0) << last_sentence();
    EXPECT_THAT(states, Each(static_cast<int>(weirRankPresent)));
    EXPECT_EQ(weirCommRankStates(comm, nullptr), 4);
    EXPECT_EQ(sum_over(comm, rank), 3);
  });
  ncclComm_t nothing = nullptr;
  int state = 0;
  EXPECT_EQ(weirCommRankStates(nothing, &state), 4);
}

/// One of two leaves; the other one sees it.
TEST(Failures, ARankThatLeft) {
  std::atomic<bool> left{false};
  on_threads(2, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << last_sentence();
    if (rank == 1) {
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
      left = true;
      return;
    }
    while (!left) std::this_thread::yield();
    int states[2] = {-1, -1};
    EXPECT_EQ(weirCommRankStates(comm, states), 0) << last_sentence();
    EXPECT_EQ(states[0], weirRankPresent);
    EXPECT_EQ(states[1], weirRankLeft);
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  });
}

}  // namespace
}  // namespace weir::api
