// SPDX-License-Identifier: Apache-2.0
/// ncclCommSuspend, ncclCommResume and ncclCommMemStats with ranks as threads.
#include <dirent.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <string_view>
#include <vector>

#include "tests/api/ranks.h"
#include "weir/stream.h"

namespace weir::api {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

uint64_t stat_of(ncclComm_t comm, ncclCommMemStat_t stat) {
  uint64_t value = ~uint64_t{0};
  EXPECT_EQ(ncclCommMemStats(comm, stat, &value), ncclSuccess) << last_sentence();
  return value;
}

void use_everything(ncclComm_t comm, int rank, int ranks) {
  std::vector<float> data(100'000, 1);
  ASSERT_EQ(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr),
            ncclSuccess)
      << last_sentence();
  EXPECT_THAT(data, Each(static_cast<float>(ranks)));
  int out = rank, in = -1;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclSend(&out, 1, ncclInt, (rank + 1) % ranks, comm, nullptr), ncclSuccess);
  EXPECT_EQ(ncclRecv(&in, 1, ncclInt, (rank + ranks - 1) % ranks, comm, nullptr), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
  EXPECT_EQ(in, (rank + ranks - 1) % ranks);
}

TEST(Suspend, WorksAgainWhenResumedAndAgain) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    for (int time = 0; time < 3; ++time) {
      use_everything(comm, rank, 3);
      ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess) << last_sentence();
      ncclResult_t state = ncclInternalError;
      EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
      EXPECT_EQ(state, ncclSuccess) << "resting is no error";
      ASSERT_EQ(ncclCommResume(comm), ncclSuccess) << last_sentence();
    }
    use_everything(comm, rank, 3);
  });
}

TEST(Suspend, MemoryIsCountedAndGivenBack) {
  std::atomic<int> files_before{0};
  std::barrier both(2);  // ranks of a process have each other's segments
  with_ranks(2, [&](ncclComm_t comm, int rank) {
    use_everything(comm, rank, 2);
    const uint64_t held = stat_of(comm, ncclStatGpuMemTotal);
    EXPECT_GT(held, 4096u);
    EXPECT_LT(held, uint64_t{1} << 30) << "pages in use, not address space";
    EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspended), 0u);
    EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspend) + stat_of(comm, ncclStatGpuMemPersist), held);
    EXPECT_EQ(sum_over(comm, 1), 2);
    const auto memfds = [] {
      int count = 0;
      DIR* const folder = opendir("/proc/self/fd");
      while (const dirent* entry = readdir(folder)) {
        char target[256] = {};
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) > 0)
          count += std::string_view(target).find("memfd:") != std::string_view::npos ? 1 : 0;
      }
      closedir(folder);
      return count;
    };
    if (rank == 0) files_before.store(memfds());
    both.arrive_and_wait();
    ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess) << last_sentence();
    EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspended), 1u);
    EXPECT_GE(stat_of(comm, ncclStatGpuMemSuspend), held) << "what it gave back";
    both.arrive_and_wait();
    if (rank == 0) {
      EXPECT_LE(memfds(), files_before.load() - 2) << "the segments of both are gone";
    }
    both.arrive_and_wait();
    ASSERT_EQ(ncclCommResume(comm), ncclSuccess) << last_sentence();
    EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspended), 0u);
    EXPECT_GE(stat_of(comm, ncclStatGpuMemTotal), 4096u);
  });
}

TEST(Suspend, NothingElseGoesMeanwhile) {
  Together together(2);
  with_ranks(2, [&together](ncclComm_t comm, int rank) {
    ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess) << last_sentence();
    int value = 1, number = -1;
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclInvalidUsage);
    EXPECT_THAT(together.sentence(), HasSubstr("suspended"));
    EXPECT_EQ(ncclSend(&value, 1, ncclInt, 1 - rank, comm, nullptr), ncclInvalidUsage);
    weirStream_t stream;
    ASSERT_EQ(weirStreamCreate(&stream), 0);
    EXPECT_EQ(
        ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, reinterpret_cast<cudaStream_t>(stream)),
        ncclInvalidUsage);
    EXPECT_EQ(weirStreamDestroy(stream), 0);
    ncclComm_t child = comm;
    EXPECT_EQ(ncclCommSplit(comm, 0, 0, &child, nullptr), ncclInvalidUsage);
    EXPECT_EQ(child, nullptr);
    ncclUniqueId id;
    EXPECT_EQ(ncclCommGetUniqueId(comm, &id), ncclSuccess);
    EXPECT_EQ(ncclCommGrow(comm, 3, &id, -1, &child, nullptr), ncclInvalidUsage);
    EXPECT_EQ(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT), ncclInvalidUsage);
    EXPECT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclInvalidUsage) << "again";
    EXPECT_EQ(ncclCommCount(comm, &number), ncclSuccess);
    EXPECT_EQ(number, 2);
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclInvalidUsage);
    ASSERT_EQ(ncclCommResume(comm), ncclSuccess) << last_sentence();
    EXPECT_EQ(sum_over(comm, 1), 2) << "refusals have changed nothing";
    EXPECT_EQ(ncclCommResume(comm), ncclInvalidUsage) << "not suspended";
  });
}

TEST(Suspend, ASuspendedOneCanBeFinalizedDestroyedAndAborted) {
  for (const bool aborts : {false, true}) {
    on_threads(2, [&](int rank, const ncclUniqueId& id) {
      ncclComm_t comm = nullptr;
      ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << last_sentence();
      ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess) << last_sentence();
      if (aborts) {
        EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
        return;
      }
      EXPECT_EQ(ncclCommFinalize(comm), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    });
  }
}

TEST(Suspend, WaitsForWhatIsQueued) {
  with_ranks(2, [](ncclComm_t comm, int) {
    weirStream_t stream;
    ASSERT_EQ(weirStreamCreate(&stream), 0);
    std::vector<float> data(300'000, 1);
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm,
                              reinterpret_cast<cudaStream_t>(stream)),
                ncclSuccess);
    ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess) << last_sentence();
    EXPECT_THAT(data, Each(32.0f));
    ASSERT_EQ(ncclCommResume(comm), ncclSuccess) << last_sentence();
    EXPECT_EQ(weirStreamDestroy(stream), 0);
  });
}

TEST(Suspend, SeveralCommunicatorsOfOneThreadInAGroup) {
  ncclComm_t comms[kRanks];
  ASSERT_EQ(ncclCommInitAll(comms, kRanks, nullptr), ncclSuccess) << last_sentence();
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
  for (ncclComm_t comm : comms) EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspended), 1u);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommResume(comm), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
  int values[kRanks] = {1, 2, 3};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(ncclAllReduce(&values[rank], &values[rank], 1, ncclInt, ncclSum, comms[rank], nullptr),
              ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
  EXPECT_THAT(values, Each(6));
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Suspend, NonBlocking) {
  on_threads(2, [](int rank, const ncclUniqueId& id) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    const auto settle = [&] {
      ncclResult_t state = ncclInProgress;
      while (state == ncclInProgress) ASSERT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
      ASSERT_EQ(state, ncclSuccess) << last_sentence();
    };
    ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, rank, &config), ncclInProgress);
    settle();
    ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclInProgress) << last_sentence();
    settle();
    EXPECT_EQ(stat_of(comm, ncclStatGpuMemSuspended), 1u);
    ASSERT_EQ(ncclCommResume(comm), ncclInProgress) << last_sentence();
    settle();
    int value = 1;
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclInProgress);
    settle();
    EXPECT_EQ(value, 2);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST(Suspend, ArgumentsThatAreWrong) {
  Alone comm;
  for (const int flags : {0, 2, -1}) {
    EXPECT_EQ(ncclCommSuspend(comm, flags), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("NCCL_SUSPEND_MEM"));
  }
  EXPECT_EQ(ncclCommSuspend(nullptr, NCCL_SUSPEND_MEM), ncclInvalidArgument);
  EXPECT_EQ(ncclCommResume(nullptr), ncclInvalidArgument);
  uint64_t value = 7;
  EXPECT_EQ(ncclCommMemStats(comm, static_cast<ncclCommMemStat_t>(4), &value), ncclInvalidArgument);
  EXPECT_EQ(ncclCommMemStats(comm, ncclStatGpuMemTotal, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommMemStats(nullptr, ncclStatGpuMemTotal, &value), ncclInvalidArgument);
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess) << last_sentence();
  EXPECT_EQ(ncclCommResume(comm), ncclSuccess) << last_sentence();
}

}  // namespace
}  // namespace weir::api
