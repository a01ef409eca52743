// SPDX-License-Identifier: Apache-2.0
// Calls of the C interface whose thread gets no more memory after a number of allocations: each gives an
// error, and the process goes on. This program replaces operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "src/api/abi.h"
#include "weir/describe.h"
#include "weir/stream.h"

namespace {

/// How many more allocations of this thread succeed; negative: all.
thread_local long allowed = -1;

}  // namespace

// Not inlined, as g++ would warn of the pairs of malloc and operator delete. The sanitizers have a form of
// their own of each, so all forms that are used have to be replaced.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  if (allowed == 0) return nullptr;
  if (allowed > 0) --allowed;
  return std::malloc(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

/// What `call` returns if only `number` of its allocations succeed.
template <typename Call>
int with_allocations(long number, Call call) {
  allowed = number;
  const int result = static_cast<int>(call());
  allowed = -1;
  return result;
}

/// The numbers to try: all small ones, then a few of each size.
long after(long number) { return number + 1 + number / 24; }

TEST(OutOfMemory, MakingACommunicatorIsASystemErrorWhereverMemoryEnds) {
  int result = ncclSystemError;
  long number = 0;
  for (; result != ncclSuccess; number = after(number)) {
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ncclComm_t comm = nullptr;
    result = with_allocations(number, [&] { return ncclCommInitRank(&comm, 1, id, 0); });
    if (result == ncclSuccess) {
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
      break;
    }
    ASSERT_EQ(result, ncclSystemError) << "after " << number << " allocations: " << ncclGetLastError(nullptr);
    ASSERT_EQ(comm, nullptr);
  }
  EXPECT_GT(number, 10) << "allocations were counted";
}

TEST(OutOfMemory, OperationsOfAGroupAreASystemErrorWhereverMemoryEnds) {
  constexpr size_t kCount = 1000;
  std::vector<float> data(kCount, 1), sum(kCount);
  for (long number = 0, failed = 1; failed != 0; number = after(number)) {
    ncclComm_t comms[2];
    ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess);
    std::vector<float> sums[2] = {sum, sum};
    failed = with_allocations(number, [&] {
      ncclGroupStart();
      for (int i = 0; i < 2; ++i)
        ncclAllReduce(data.data(), sums[i].data(), kCount, ncclFloat, ncclSum, comms[i], nullptr);
      return ncclGroupEnd();
    });
    if (failed != 0) {
      ASSERT_EQ(failed, ncclSystemError) << "after " << number << ": " << ncclGetLastError(nullptr);
    } else {
      EXPECT_EQ(sums[1].back(), 2);
    }
    for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  }
}

TEST(OutOfMemory, SmallCallsThrowNothing) {
  ncclComm_t comm = nullptr;
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  EXPECT_EQ(with_allocations(0, [&] { return ncclGetUniqueId(&id); }), ncclSystemError);
  EXPECT_EQ(with_allocations(0, [&] { return ncclCommCount(comm, nullptr); }), ncclSystemError);
  EXPECT_EQ(with_allocations(0,
                             [&] {
                               const char** keys = nullptr;
                               int count = 0;
                               return ncclParamGetAllParameterKeys(&keys, &count);
                             }),
            ncclSystemError);
  EXPECT_EQ(with_allocations(0, [&] { return weirDescribe(nullptr, 0); }), 0);
  weirStream_t stream = nullptr;
  EXPECT_EQ(with_allocations(0, [&] { return weirStreamCreate(&stream); }), ncclSystemError);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

}  // namespace
