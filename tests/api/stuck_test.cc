// SPDX-License-Identifier: Apache-2.0
/// weirCommSetStuckTimeout: ranks that run but do not come, a deadline of each communicator's own.
#include "tests/api/ranks.h"
#include "weir/failures.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ncclResult_t sum(ncclComm_t comm, int* value) {
  return ncclAllReduce(value, value, 1, ncclInt, ncclSum, comm, nullptr);
}

TEST(StuckTimeout, EndsTheWaitForARankThatDoesNotCome) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    int value = 1;
    ASSERT_EQ(sum(comm, &value), ncclSuccess) << last_sentence();
    ASSERT_EQ(weirCommSetStuckTimeout(comm, 800), 0) << last_sentence();
    if (rank == 1) {  // never comes
      ncclResult_t state = ncclSuccess;
      while (state == ncclSuccess) {
        ASSERT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_EQ(state, ncclRemoteError);
      return;
    }
    EXPECT_EQ(sum(comm, &value), ncclRemoteError);
    EXPECT_THAT(last_sentence(),
                AllOf(HasSubstr("rank 1 "), HasSubstr("in no call of this communicator"),
                      HasSubstr("the wait timed out"), HasSubstr("0.8 s"), HasSubstr("ncclAllReduce")));
  });
}

/// Takes real time: that in which it would be over.
TEST(StuckTimeout, IsOfOneCommunicatorAndCanBeTakenBack) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    ASSERT_EQ(weirCommSetStuckTimeout(comm, 800), 0) << last_sentence();
    ncclComm_t other = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, 0, rank, &other, nullptr), ncclSuccess) << last_sentence();
    ASSERT_EQ(weirCommSetStuckTimeout(comm, 0), 0) << last_sentence();
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    std::vector<std::thread> waiting;  // for both at the same time
    for (ncclComm_t each : {comm, other}) {
      waiting.emplace_back([each] {
        int value = 1;
        EXPECT_EQ(sum(each, &value), ncclSuccess) << last_sentence();
        EXPECT_EQ(value, 2);
      });
    }
    for (std::thread& thread : waiting) thread.join();
    EXPECT_EQ(ncclCommDestroy(other), ncclSuccess);
  });
}

TEST(StuckTimeout, OutlastsARest) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    ASSERT_EQ(weirCommSetStuckTimeout(comm, 800), 0) << last_sentence();
    ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess) << last_sentence();
    EXPECT_EQ(weirCommSetStuckTimeout(comm, 100), ncclInvalidUsage);
    EXPECT_THAT(last_sentence(), HasSubstr("is suspended"));
    ASSERT_EQ(ncclCommResume(comm), ncclSuccess) << last_sentence();
    int value = 1;
    if (rank == 0) {
      EXPECT_EQ(sum(comm, &value), ncclRemoteError);
      EXPECT_THAT(last_sentence(), HasSubstr("0.8 s"));
      return;
    }
    ncclResult_t state = ncclSuccess;
    while (state == ncclSuccess) {
      ASSERT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(state, ncclRemoteError);
  });
}

TEST(StuckTimeout, RefusesWhatItCannotUse) {
  const Alone comm;
  EXPECT_EQ(weirCommSetStuckTimeout(comm, -1), 4);
  EXPECT_THAT(last_sentence(), HasSubstr("milliseconds is -1; expected 0 or more"));
  EXPECT_EQ(weirCommSetStuckTimeout(nullptr, 1), 4);
}

}  // namespace
}  // namespace weir::api
