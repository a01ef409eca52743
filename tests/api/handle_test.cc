// SPDX-License-Identifier: Apache-2.0
// Handles: whatever a caller passes, it is noticed, and what is inside is not freed.
#include "src/api/handle.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::HasSubstr;

ncclResult_t reduce_one(ncclComm_t comm) {
  float value = 1;
  return ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr);
}

TEST(Handle, NullIsNamed) {
  int number = 0;
  EXPECT_EQ(reduce_one(nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("ncclAllReduce : comm argument is NULL"));
  EXPECT_EQ(ncclCommCount(nullptr, &number), ncclInvalidArgument);
  ncclResult_t state;
  EXPECT_EQ(ncclCommGetAsyncError(nullptr, &state), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(nullptr), ncclSuccess);
}

TEST(Handle, AnyPointerIsTestedSafely) {
  int on_stack = 0;
  for (void* pointer :
       {reinterpret_cast<void*>(1), reinterpret_cast<void*>(~uintptr_t{0}), static_cast<void*>(&on_stack),
        static_cast<void*>(reinterpret_cast<char*>(slots) + 8)}) {
    EXPECT_EQ(reduce_one(static_cast<ncclComm_t>(pointer)), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("was never a communicator"));
    EXPECT_EQ(ncclCommDestroy(static_cast<ncclComm_t>(pointer)), ncclInvalidArgument);
  }
}

TEST(Handle, AFreedCommunicatorIsNoticedByEveryCall) {
  ncclComm_t freed = nullptr;
  {
    Alone alone;
    freed = alone;
    EXPECT_EQ(reduce_one(freed), ncclSuccess);
  }
  for (int i = 0; i < 100; ++i) Alone other;  // a slot is not used again soon
  int number = 0;
  void* memory = nullptr;
  ncclComm_t child = nullptr;
  EXPECT_EQ(reduce_one(freed), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("it was destroyed or aborted"));
  EXPECT_EQ(ncclCommUserRank(freed, &number), ncclInvalidArgument);
  EXPECT_EQ(ncclCommRegister(freed, &number, 4, &memory), ncclInvalidArgument);
  EXPECT_EQ(ncclCommSplit(freed, 0, 0, &child, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommFinalize(freed), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(freed), ncclInvalidArgument);
  EXPECT_EQ(ncclCommAbort(freed), ncclInvalidArgument);
}

TEST(Handle, AFinalizedCommunicatorCanOnlyBeAskedAndFreed) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(comm), ncclSuccess);
  EXPECT_EQ(reduce_one(comm), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("was finalized"));
  EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidArgument);
  int count = 0;
  ncclResult_t state = ncclInternalError;
  EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(state, ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Handle, TwoThreadsInsideOneCommunicatorAreNoticed) {
  Alone alone;
  const HandleGuard guard(alone);
  ASSERT_TRUE(guard);
  std::thread([&] {
    EXPECT_EQ(reduce_one(alone), ncclInvalidUsage);
    EXPECT_THAT(last_sentence(), HasSubstr("another thread is inside a call"));
  }).join();
  int rank = -1;
  EXPECT_EQ(ncclCommUserRank(alone, &rank), ncclSuccess) << "asking is allowed meanwhile";
  EXPECT_EQ(rank, 0);
}

TEST(Handle, FreeingWaitsUntilNobodyIsInside) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  ASSERT_TRUE(enter(comm));
  std::atomic<bool> freed{false};
  std::thread destroyer([&] {
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    freed = true;
  });
  while (comm->phase.load() != Phase::closing) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(freed);
  EXPECT_NE(comm->core, nullptr);
  leave(comm);
  destroyer.join();
  EXPECT_TRUE(freed);
}

TEST(Handle, EnteringAndClosingNeverOverlap) {
  // One thread hammers calls while others free what it uses; run under the sanitizers this finds use after
  // free.
  for (int round = 0; round < 50; ++round) {
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
    std::atomic<int> calls{0};
    std::thread caller([&] {
      while (reduce_one(comm) == ncclSuccess) ++calls;
    });
    while (calls == 0) std::this_thread::yield();
    EXPECT_EQ(round % 2 == 0 ? ncclCommAbort(comm) : ncclCommDestroy(comm), ncclSuccess);
    caller.join();
  }
}

TEST(Handle, FreedSlotsRestAndAreUsedAgain) {
  const auto cycle = [] {
    const auto handle = create_handle(nullptr);
    EXPECT_TRUE(handle.ok());
    EXPECT_TRUE(begin_close(handle.value()));
    EXPECT_FALSE(begin_close(handle.value())) << "only one frees";
    end_close(handle.value());
    return handle.value();
  };
  const ncclComm* const first = cycle();
  int cycles = 1;
  while (cycles <= 3000 && cycle() != first) ++cycles;
  EXPECT_GT(cycles, 1000) << "old handles must be noticed for long";
  EXPECT_LT(cycles, 3000) << "slots must not run out";
}

}  // namespace
}  // namespace weir::api
