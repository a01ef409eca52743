// SPDX-License-Identifier: Apache-2.0
// Communicators that are set up in the background, and calls that another thread ends.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/api/ranks.h"
#include "weir/describe.h"
#include "weir/stream.h"

namespace weir::api {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ncclResult_t wait_for(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    std::this_thread::yield();
  }
  return state;
}

TEST(Life, NonBlockingRanksInOneThread) {
  ncclUniqueId id;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = "background";
  ncclComm_t comms[kRanks] = {};
  int values[kRanks] = {1, 2, 4};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {  // without a group: nothing here may wait
    ASSERT_EQ(ncclCommInitRankConfig(&comms[rank], kRanks, id, rank, &config), ncclInProgress)
        << last_sentence();
    ASSERT_NE(comms[rank], nullptr);
  }
  for (ncclComm_t comm : comms) ASSERT_EQ(wait_for(comm), ncclSuccess) << last_sentence();
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(ncclAllReduce(&values[rank], &values[rank], 1, ncclInt, ncclSum, comms[rank], nullptr),
              ncclInProgress);
  }
  for (ncclComm_t comm : comms) EXPECT_EQ(wait_for(comm), ncclSuccess) << last_sentence();
  EXPECT_THAT(values, ::testing::Each(7));
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Life, AbortEndsAnInitThatWaitsForOthers) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclInvalidArgument) << "freed";
}

TEST(Life, AbortEndsACallThatBlocksInAnotherThread) {
  std::atomic<ncclComm_t> stuck{nullptr};
  on_threads(2, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << last_sentence();
    if (rank == 0) {
      stuck = comm;
      int value = 1;
      const ncclResult_t result = ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr);
      EXPECT_NE(result, ncclSuccess) << "rank 1 never called";
    } else {
      while (stuck == nullptr) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(ncclCommAbort(stuck), ncclSuccess);
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    }
  });
}

TEST(Life, StreamsKeepOrderAndReturnAtOnce) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    weirStream_t stream;
    ASSERT_EQ(weirStreamCreate(&stream), 0);
    auto* const host_stream = reinterpret_cast<cudaStream_t>(stream);
    int value = rank + 1;
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, host_stream), ncclSuccess)
          << last_sentence();
    }
    EXPECT_EQ(weirStreamSynchronize(stream), 0) << last_sentence();
    EXPECT_EQ(value, 3 << 9);
    EXPECT_EQ(weirStreamDestroy(stream), 0);
  });
}

TEST(Life, NamesOfTheLibrary) {
  int version = 0;
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 23203);
  char line[512], cut[8];
  const int length = weirDescribe(line, sizeof(line));
  EXPECT_THAT(line, StartsWith("weir "));
  EXPECT_THAT(line, HasSubstr("ranks may use "));
  EXPECT_EQ(weirDescribe(cut, sizeof(cut)), length);
  EXPECT_EQ(std::string(cut), std::string(line).substr(0, 7));
  EXPECT_EQ(weirDescribe(nullptr, 0), length);
}

}  // namespace
}  // namespace weir::api
