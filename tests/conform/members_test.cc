// SPDX-License-Identifier: Apache-2.0
// Ranks leave a communicator, join it, revoke it and put it aside while it has work. One definition for host
// memory and for GPUs. Ranks are threads, which pass ids on to newcomers.
#include <barrier>
#include <future>
#include <latch>
#include <thread>

#include "tests/conform/machine.h"
#include "tests/conform/team.h"

namespace weir::conform {
namespace {

constexpr size_t kElements = 1000;

/// Sums of one number per rank over a communicator, queued on a stream.
class Sums {
 public:
  explicit Sums(int rank) : in_(kElements * 4), out_(kElements * 4) {
    in_.write(std::vector<float>(kElements, static_cast<float>(rank + 1)), stream_);
  }
  ncclResult_t queue(ncclComm_t comm, int times = 1) const {
    for (int turn = 0; turn < times; ++turn) {
      const ncclResult_t result =
          ncclAllReduce(in_.data(), out_.data(), kElements, ncclFloat32, ncclSum, comm, stream_);
      if (result != ncclSuccess) return result;
    }
    return ncclSuccess;
  }
  /// What every element is in the end; -1: they differ.
  float result() const {
    const std::vector<float> values = out_.read<float>(kElements, stream_);
    for (const float value : values)
      if (value != values[0]) return -1;
    return values[0];
  }
  float of(ncclComm_t comm) const {
    EXPECT_EQ(failure(queue(comm)), "");
    return result();
  }

 private:
  const Stream stream_;
  const Buffer in_, out_;
};

constexpr int kSuspendMemory = 1;  ///< NCCL_SUSPEND_MEM
constexpr int kLoad = 10;          ///< number of operations that are queued

/// Until the communicator has failed; how.
ncclResult_t failed(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  while (state == ncclSuccess || state == ncclInProgress) {
    if (const ncclResult_t asked = ncclCommGetAsyncError(comm, &state); asked != ncclSuccess) return asked;
    std::this_thread::yield();
  }
  return state;
}
ncclResult_t state_of(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  EXPECT_EQ(failure(ncclCommGetAsyncError(comm, &state)), "");
  return state;
}

/// Ranks share GPUs, and freeing memory waits for all that is queued on a GPU: nobody queues what waits for a
/// rank that may be about to free some.
TEST(Members, LeaveOneAfterTheOther) {
  std::barrier turn(4);
  with_comms({4}, [&turn](ncclComm_t comm, int rank) {
    const Sums sums(rank), of_rest(rank);
    for (int out : {3, 0, 1}) {
      ASSERT_EQ(failure(sums.queue(comm, kLoad)), "");
      if (rank != out) {
        ncclComm_t rest = nullptr;
        ASSERT_EQ(failure(ncclCommShrink(comm, &out, 1, &rest, nullptr, NCCL_SHRINK_DEFAULT)), "");
        EXPECT_EQ(of_rest.of(rest), 1 + 2 + 3 + 4 - (out + 1));
        EXPECT_EQ(failure(ncclCommDestroy(rest)), "");
      }
      turn.arrive_and_wait();
    }
    EXPECT_EQ(sums.result(), 1 + 2 + 3 + 4);
    EXPECT_EQ(sums.of(comm), 1 + 2 + 3 + 4) << "the parent goes on";
  });
}

TEST(Members, JoinWhileTheOthersWork) {
  std::promise<ncclUniqueId> given;
  const std::shared_future<ncclUniqueId> grown(given.get_future());
  on_ranks({3}, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr, all = nullptr;
    const Sums sums(rank), of_all(rank);
    if (rank < 2) {
      ASSERT_EQ(failure(ncclCommInitRank(&comm, 2, id, rank)), "");
      ASSERT_EQ(failure(sums.queue(comm, kLoad)), "");
    }
    if (rank == 0) {
      ncclUniqueId made;
      ASSERT_EQ(failure(ncclCommGetUniqueId(comm, &made)), "");
      given.set_value(made);
    }
    const ncclUniqueId& their_id = grown.get();
    ASSERT_EQ(failure(ncclCommGrow(comm, 3, comm == nullptr ? &their_id : nullptr,
                                   comm == nullptr ? rank : -1, &all, nullptr)),
              "");
    EXPECT_EQ(of_all.of(all), 1 + 2 + 3);
    EXPECT_EQ(failure(ncclCommDestroy(all)), "");
    if (comm == nullptr) return;
    EXPECT_EQ(sums.result(), 1 + 2);
    EXPECT_EQ(failure(ncclCommDestroy(comm)), "");
  });
}

TEST(Members, RevokeWhatTheOthersWaitFor) {
  std::latch queued(2);
  with_comms({3}, [&](ncclComm_t comm, int rank) {
    const Sums sums(rank), of_again(rank);
    EXPECT_EQ(sums.of(comm), 1 + 2 + 3);
    if (rank == 2) {
      queued.wait();
    } else {
      EXPECT_EQ(failure(sums.queue(comm)), "");
      queued.count_down();
      EXPECT_EQ(failed(comm), ncclInvalidUsage);
      EXPECT_NE(std::string(ncclGetLastError(comm)).find("revoked"), std::string::npos);
    }
    EXPECT_EQ(failure(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT)), "");
    EXPECT_EQ(state_of(comm), ncclSuccess);
    EXPECT_EQ(sums.queue(comm), ncclInvalidUsage);
    ncclComm_t again = nullptr;
    ASSERT_EQ(failure(ncclCommSplit(comm, 0, rank, &again, nullptr)), "");
    EXPECT_EQ(of_again.of(again), 1 + 2 + 3);
    EXPECT_EQ(failure(ncclCommDestroy(again)), "");
  });
}

TEST(Members, PutACommunicatorAsideThatHasWork) {
  with_comms({3}, [](ncclComm_t comm, int rank) {
    const Sums sums(rank);
    for (int turn = 0; turn < 3; ++turn) {
      ASSERT_EQ(failure(sums.queue(comm, kLoad)), "");
      const ncclResult_t suspended = ncclCommSuspend(comm, kSuspendMemory);
      if (kOnGpus) {
        EXPECT_EQ(suspended, ncclInvalidUsage);
      } else {
        ASSERT_EQ(failure(suspended), "");
        EXPECT_EQ(sums.result(), 1 + 2 + 3) << "all that was queued is done";
        EXPECT_EQ(sums.queue(comm), ncclInvalidUsage);
        ASSERT_EQ(failure(ncclCommResume(comm)), "");
      }
      EXPECT_EQ(sums.of(comm), 1 + 2 + 3);
    }
  });
}

/// Rank 1 gives up while the others wait for it. They go on without it, and it comes back as a newcomer.
TEST(Members, LeaveWithoutAWordAndComeBack) {
  std::promise<ncclUniqueId> given;
  const std::shared_future<ncclUniqueId> grown(given.get_future());
  std::latch queued(2);
  on_ranks({3}, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr, rest = nullptr, all = nullptr;
    const Sums sums(rank), of_rest(rank), of_all(rank);
    ASSERT_EQ(failure(ncclCommInitRank(&comm, 3, id, rank)), "");
    EXPECT_EQ(sums.of(comm), 1 + 2 + 3);
    if (rank == 1) {
      queued.wait();
      EXPECT_EQ(failure(ncclCommAbort(comm)), "");
    } else {
      EXPECT_EQ(failure(sums.queue(comm)), "");
      queued.count_down();
      EXPECT_EQ(failed(comm), ncclRemoteError);
      int out = 1;
      ASSERT_EQ(failure(ncclCommShrink(comm, &out, 1, &rest, nullptr, NCCL_SHRINK_ABORT)), "");
      EXPECT_EQ(state_of(comm), ncclSuccess) << "what it was aborted for has come true";
      EXPECT_EQ(of_rest.of(rest), 1 + 3);
      if (rank == 0) {
        ncclUniqueId made;
        ASSERT_EQ(failure(ncclCommGetUniqueId(rest, &made)), "");
        given.set_value(made);
      }
    }
    const ncclUniqueId& their_id = grown.get();
    ASSERT_EQ(failure(ncclCommGrow(rest, 3, rest == nullptr ? &their_id : nullptr, rest == nullptr ? 2 : -1,
                                   &all, nullptr)),
              "");
    EXPECT_EQ(of_all.of(all), 1 + 2 + 3);
    EXPECT_EQ(failure(ncclCommDestroy(all)), "");
    if (rest != nullptr) {
      EXPECT_EQ(failure(ncclCommDestroy(rest)), "");
      EXPECT_EQ(failure(ncclCommDestroy(comm)), "");
    }
  });
}

}  // namespace
}  // namespace weir::conform
