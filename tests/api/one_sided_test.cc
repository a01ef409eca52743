// SPDX-License-Identifier: Apache-2.0
/// Windows, ncclPutSignal, ncclSignal and ncclWaitSignal with ranks as threads: order, counts, groups,
/// streams, and what is refused.
#include <numeric>
#include <thread>
#include <vector>

#include "src/api/device_api.h"
#include "tests/api/ranks.h"
#include "weir/stream.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A window over memory of its own, as long as it lives.
class OwnWindow {
 public:
  OwnWindow(ncclComm_t comm, size_t count, int value) : values(count, value), comm_(comm) {
    EXPECT_EQ(ncclCommWindowRegister(comm, values.data(), bytes(), &handle, NCCL_WIN_COLL_SYMMETRIC),
              ncclSuccess)
        << last_sentence();
    EXPECT_NE(handle, nullptr);
  }
  ~OwnWindow() { EXPECT_EQ(ncclCommWindowDeregister(comm_, handle), ncclSuccess) << last_sentence(); }
  OwnWindow(const OwnWindow&) = delete;
  OwnWindow& operator=(const OwnWindow&) = delete;
  size_t bytes() const { return values.size() * sizeof(int); }

  std::vector<int> values;
  ncclWindow_t handle = nullptr;

 private:
  ncclComm_t comm_;
};

void put(const int* data, size_t count, int peer, const OwnWindow& window, size_t at, ncclComm_t comm,
         int index = 0, cudaStream_t stream = nullptr) {
  EXPECT_EQ(
      ncclPutSignal(data, count, ncclInt, peer, window.handle, at * sizeof(int), index, 0, 0, comm, stream),
      ncclSuccess)
      << last_sentence();
}

void await(int count, int peer, ncclComm_t comm, int index = 0, cudaStream_t stream = nullptr) {
  ncclWaitSignalDesc_t wait = {count, peer, index, 0};
  EXPECT_EQ(ncclWaitSignal(1, &wait, comm, stream), ncclSuccess) << last_sentence();
}

/// Nobody's window goes before everybody is done with it.
void meet(ncclComm_t comm) {
  int one = 1;
  EXPECT_EQ(ncclAllReduce(&one, &one, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess) << last_sentence();
}

TEST(OneSided, PropertiesTellOfIt) {
  Alone comm;
  ncclCommProperties_t properties{};
  properties.size = sizeof(properties);
  properties.magic = 0xcafebeef;
  ASSERT_EQ(ncclCommQueryProperties(comm, &properties), ncclSuccess) << last_sentence();
  EXPECT_TRUE(properties.hostRmaSupport);
  EXPECT_FALSE(properties.deviceApiSupport);
}

TEST(OneSided, WindowsKnowTheirMemory) {
  Alone comm;
  const OwnWindow first(comm, 10, 0), second(comm, 20, 0);
  for (const OwnWindow* const window : {&first, &second}) {
    void* memory = nullptr;
    EXPECT_EQ(ncclWinGetUserPtr(comm, window->handle, &memory), ncclSuccess) << last_sentence();
    EXPECT_EQ(memory, window->values.data());
  }
}

TEST(OneSided, DataIsThereWhenItsSignalIs) {
  constexpr size_t kCount = 100'000;
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    const int next = (rank + 1) % kRanks, previous = (rank + kRanks - 1) % kRanks;
    std::vector<int> own(kCount);
    OwnWindow window(comm, kCount, -1);
    for (int round = 0; round < 20; ++round) {
      std::fill(own.begin(), own.end(), 100 * round + rank);
      put(own.data(), kCount, next, window, 0, comm);
      await(1, previous, comm);
      EXPECT_THAT(window.values, Each(100 * round + previous));
      // The next round may only come over what was looked at.
      EXPECT_EQ(ncclSignal(previous, 1, 0, 0, comm, nullptr), ncclSuccess) << last_sentence();
      await(1, next, comm, 1);
    }
  });
}

TEST(OneSided, ATargetNeedNotBeInACall) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    constexpr size_t kCount = 3'000'000;  // much more than channels hold
    OwnWindow window(comm, kCount, -1);
    if (rank == 0) {
      const std::vector<int> data(kCount, 7);
      put(data.data(), kCount, 1, window, 0, comm);
    }
    meet(comm);  // the target comes here first: a put that waited for its call would never end
    if (rank == 1) {
      await(1, 0, comm);
      EXPECT_THAT(window.values, Each(7));
    }
    meet(comm);
  });
}

TEST(OneSided, SignalsAreCountedBySenderIndexAndContext) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    if (rank != 0) {
      for (int i = 0; i < 2 * rank; ++i)
        EXPECT_EQ(ncclSignal(0, 5, rank, 0, comm, nullptr), ncclSuccess) << last_sentence();
      EXPECT_EQ(ncclSignal(0, 6, 0, 0, comm, nullptr), ncclSuccess) << last_sentence();
    } else {
      ncclWaitSignalDesc_t waits[] = {{1, 2, 6, 0}, {2, 1, 5, 1}, {3, 2, 5, 2},
                                      {1, 2, 5, 2}, {1, 1, 6, 0}, {0, 1, 9, 9}};
      EXPECT_EQ(ncclWaitSignal(6, waits, comm, nullptr), ncclSuccess) << last_sentence();
    }
    meet(comm);
  });
}

TEST(OneSided, APutToOneself) {
  Alone comm;
  OwnWindow window(comm, 8, 0);
  const int data[] = {1, 2, 3};
  put(data, 3, 0, window, 5, comm);
  await(1, 0, comm);
  EXPECT_THAT(window.values, ElementsAre(0, 0, 0, 0, 0, 1, 2, 3));
  put(data, 0, 0, window, 8, comm);  // nothing but the signal
  await(1, 0, comm);
}

TEST(OneSided, GroupsKeepTheOrderOfCalls) {
  constexpr int kRanks = 4;
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    OwnWindow window(comm, kRanks, -1);
    std::vector<int> own(kRanks);
    std::iota(own.begin(), own.end(), 10 * rank);
    std::vector<ncclWaitSignalDesc_t> waits;
    for (int peer = 0; peer < kRanks; ++peer) waits.push_back({1, peer, 0, 0});
    int sum = rank;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int peer = 0; peer < kRanks; ++peer)
      put(&own[static_cast<size_t>(peer)], 1, peer, window, static_cast<size_t>(rank), comm);
    EXPECT_EQ(ncclWaitSignal(kRanks, waits.data(), comm, nullptr), ncclSuccess);
    waits.clear();  // was read
    EXPECT_EQ(ncclAllReduce(&sum, &sum, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    EXPECT_THAT(window.values, ElementsAre(rank, 10 + rank, 20 + rank, 30 + rank));
    EXPECT_EQ(sum, 6);
  });
}

TEST(OneSided, RanksOfOneThreadWaitForEachOther) {
  ncclComm_t comms[2];
  ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess) << last_sentence();
  {
    OwnWindow first(comms[0], 2, -1), second(comms[1], 2, -1);
    const int data[] = {3, 4};
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    await(1, 1, comms[0]);
    put(data, 2, 1, first, 0, comms[0]);
    put(data, 1, 0, second, 1, comms[1]);
    await(1, 0, comms[1]);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    EXPECT_THAT(first.values, ElementsAre(-1, 3));
    EXPECT_THAT(second.values, ElementsAre(3, 4));
  }
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(OneSided, OnStreamsInOrderWithCollectives) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    weirStream_t made;
    ASSERT_EQ(weirStreamCreate(&made), 0);
    const auto stream = reinterpret_cast<cudaStream_t>(made);
    OwnWindow window(comm, 4, -1);
    int value = rank + 1;
    for (int round = 0; round < 10; ++round) {
      EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclMax, comm, stream), ncclSuccess);
      put(&value, 1, 1 - rank, window, static_cast<size_t>(round % 4), comm, 0, stream);
      await(1, 1 - rank, comm, 0, stream);
    }
    EXPECT_EQ(weirStreamSynchronize(made), 0);
    EXPECT_THAT(window.values, Each(2));
    EXPECT_EQ(weirStreamDestroy(made), 0);
    meet(comm);
  });
}

TEST(OneSided, APutWaitsUntilTheTargetHasTheWindow) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    OwnWindow window(comm, 1, -1);
    const int data = 9;
    if (rank == 0) {
      put(&data, 1, 1, window, 0, comm);
    } else {
      await(1, 0, comm);
      EXPECT_THAT(window.values, ElementsAre(9));
    }
    meet(comm);
  });
}

TEST(OneSided, SurvivesARest) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    OwnWindow window(comm, 1, -1);
    EXPECT_EQ(ncclSignal(1 - rank, 3, 0, 0, comm, nullptr), ncclSuccess) << last_sentence();
    ASSERT_EQ(ncclCommSuspend(comm, NCCL_SUSPEND_MEM), ncclSuccess) << last_sentence();
    EXPECT_EQ(ncclSignal(1 - rank, 0, 0, 0, comm, nullptr), ncclInvalidUsage);
    ASSERT_EQ(ncclCommResume(comm), ncclSuccess) << last_sentence();
    await(1, 1 - rank, comm, 3);
    put(&rank, 1, 1 - rank, window, 0, comm);
    await(1, 1 - rank, comm);
    EXPECT_THAT(window.values, ElementsAre(1 - rank));
    meet(comm);
  });
}

TEST(OneSided, AbortEndsAWait) {
  on_threads(2, [](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << last_sentence();
    std::thread waits([&] {
      ncclWaitSignalDesc_t wait = {1, 1 - rank, 0, 0};
      EXPECT_NE(ncclWaitSignal(1, &wait, comm, nullptr), ncclSuccess);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    waits.join();
  });
}

TEST(OneSided, WhatIsWrongIsSaidBeforeAnythingGoes) {
  Alone comm;
  OwnWindow window(comm, 4, 0);
  int data[8] = {};
  const auto refused = [&](size_t count, int type, int peer, ncclWindow_t win, size_t offset, int index,
                           int context, unsigned flags, const char* words) {
    EXPECT_EQ(ncclPutSignal(data, count, static_cast<ncclDataType_t>(type), peer, win, offset, index, context,
                            flags, comm, nullptr),
              ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), AllOf(HasSubstr("ncclPutSignal"), HasSubstr(words)));
  };
  refused(5, ncclInt, 0, window.handle, 0, 0, 0, 0, "do not fit");
  refused(1, ncclInt, 0, window.handle, 13, 0, 0, 0, "do not fit");
  refused(0, ncclInt, 0, window.handle, 17, 0, 0, 0, "do not fit");
  refused(static_cast<size_t>(-1), ncclInt, 0, window.handle, 8, 0, 0, 0, "do not fit");
  refused(1, 99, 0, window.handle, 0, 0, 0, 0, "invalid type 99");
  refused(1, ncclInt, 1, window.handle, 0, 0, 0, 0, "invalid peer 1");
  refused(1, ncclInt, -1, window.handle, 0, 0, 0, 0, "invalid peer -1");
  refused(1, ncclInt, 0, nullptr, 0, 0, 0, 0, "is not a window");
  refused(1, ncclInt, 0, reinterpret_cast<ncclWindow_t>(data), 0, 0, 0, 0, "is not a window");
  refused(1, ncclInt, 0, window.handle, 0, -1, 0, 0, "sigIdx -1");
  refused(1, ncclInt, 0, window.handle, 0, 0, -1, 0, "ctx -1");
  refused(1, ncclInt, 0, window.handle, 0, 0, 0, 1, "flags 0x1");
  EXPECT_EQ(ncclPutSignal(nullptr, 1, ncclInt, 0, window.handle, 0, 0, 0, 0, comm, nullptr),
            ncclInvalidArgument);
  EXPECT_EQ(ncclSignal(2, 0, 0, 0, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclSignal(0, 0, 0, 0, nullptr, nullptr), ncclInvalidArgument);
  ncclWaitSignalDesc_t wait = {-1, 0, 0, 0};
  EXPECT_EQ(ncclWaitSignal(1, &wait, comm, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("opCnt -1"));
  wait = {1, 1, 0, 0};
  EXPECT_EQ(ncclWaitSignal(1, &wait, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclWaitSignal(0, &wait, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclWaitSignal(1, nullptr, comm, nullptr), ncclInvalidArgument);
  void* memory = data;
  EXPECT_EQ(ncclWinGetUserPtr(comm, nullptr, &memory), ncclInvalidArgument);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(ncclWinGetUserPtr(comm, window.handle, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommWindowDeregister(comm, reinterpret_cast<ncclWindow_t>(data)), ncclInvalidUsage);
  EXPECT_EQ(ncclCommWindowDeregister(comm, nullptr), ncclSuccess);
  EXPECT_THAT(window.values, Each(0));
  put(data, 1, 0, window, 0, comm);  // the communicator is well
  await(1, 0, comm);
}

TEST(OneSided, AWindowThatIsGoneIsNoWindow) {
  Alone comm, other;
  ncclWindow_t gone = nullptr;
  int data = 1;
  {
    const OwnWindow window(comm, 1, 0);
    gone = window.handle;
    EXPECT_EQ(ncclPutSignal(&data, 1, ncclInt, 0, gone, 0, 0, 0, 0, other, nullptr), ncclInvalidArgument)
        << "of another communicator";
  }
  EXPECT_EQ(ncclPutSignal(&data, 1, ncclInt, 0, gone, 0, 0, 0, 0, comm, nullptr), ncclInvalidArgument);
}

}  // namespace
}  // namespace weir::api
