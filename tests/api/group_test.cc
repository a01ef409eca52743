// SPDX-License-Identifier: Apache-2.0
// Groups of the C interface.
#include <functional>
#include <numeric>

#include "tests/api/ranks.h"
#include "weir/stream.h"

namespace weir::api {
namespace {

using ::testing::HasSubstr;

TEST(Group, EndWithoutStart) {
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_THAT(last_sentence(), HasSubstr("ncclGroupEnd: not in a group call"));
}

TEST(Group, NestedGroupsActAtTheOutermostEnd) {
  Alone comm;
  int in = 7, out = 0;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&in, &out, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(out, 0);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(out, 7);
}

TEST(Group, AnErrorInsideEndsItAndDropsTheWork) {
  Alone comm;
  int in = 7, out = 0;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&in, &out, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(ncclReduce(&in, &out, 1, ncclInt, ncclSum, 5, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("invalid root 5"));
  EXPECT_EQ(out, 0);
  EXPECT_EQ(ncclAllReduce(&in, &out, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess)
      << "the thread is well again";
  EXPECT_EQ(out, 7);
}

TEST(Group, ACommunicatorFreedBeforeTheEndIsNoticed) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  int value = 7;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("destroyed or aborted"));
}

TEST(Group, AStreamDestroyedBeforeTheEndStillWorks) {
  Alone comm;
  int in = 7, out = 0;
  weirStream_t stream;
  ASSERT_EQ(weirStreamCreate(&stream), 0);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&in, &out, 1, ncclInt, ncclSum, comm, reinterpret_cast<cudaStream_t>(stream)),
            ncclSuccess);
  EXPECT_EQ(weirStreamDestroy(stream), 0);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(comm), ncclSuccess);
  EXPECT_EQ(out, 7);
}

/// What a group of `calls` is predicted to take, in microseconds.
float simulated(const std::function<void()>& calls) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  calls();
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess) << last_sentence();
  return info.estimatedTime;
}

TEST(Group, SimulatedEndsPredictAndCarryNothingOut) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    std::vector<float> in(1 << 20, 1), out(1 << 20, -1);
    const auto all_reduce = [&](size_t count) {
      EXPECT_EQ(ncclAllReduce(in.data(), out.data(), count, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    };
    const float small = simulated([&] { all_reduce(2); });
    const float large = simulated([&] { all_reduce(1 << 20); });
    EXPECT_GT(small, 0);
    EXPECT_GT(large, 4 * small) << "half a million times the bytes";
    EXPECT_NEAR(simulated([&] {
                  all_reduce(1 << 20);
                  all_reduce(1 << 20);
                }),
                2 * large, large * 1e-3);
    EXPECT_EQ(simulated([&] { all_reduce(0); }), 0);
    EXPECT_EQ(simulated([] {}), 0);
    const int next = (rank + 1) % 3, previous = (rank + 2) % 3;
    const auto exchange = [&](size_t count) {
      EXPECT_EQ(ncclSend(in.data(), count, ncclFloat, next, comm, nullptr), ncclSuccess);
      EXPECT_EQ(ncclRecv(out.data(), count, ncclFloat, previous, comm, nullptr), ncclSuccess);
    };
    const float passed = simulated([&] { exchange(1); });
    EXPECT_GT(passed, 0);
    EXPECT_GT(simulated([&] { exchange(1 << 20); }), passed);
    EXPECT_THAT(out, ::testing::Each(-1.0f)) << "nothing was carried out";
    all_reduce(4);
    EXPECT_EQ(out[3], 3) << "the communicator is as before";
  });
}

TEST(Group, OnlyTheOutermostSimulatedEndPredicts) {
  Alone comm;
  int in = 7, out = 0;
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&in, &out, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess);
  EXPECT_EQ(info.estimatedTime, NCCL_UNDEF_FLOAT);
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess);
  EXPECT_GE(info.estimatedTime, 0);
  EXPECT_EQ(out, 0);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&in, &out, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(ncclGroupSimulateEnd(nullptr), ncclSuccess) << "as ncclGroupEnd";
  EXPECT_EQ(out, 7);
}

TEST(Group, WhatCannotBeSimulated) {
  Alone comm;
  int in = 7, out = 0;
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclInvalidUsage) << "not in a group";
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&in, &out, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(ncclReduce(&in, &out, 1, ncclInt, ncclSum, 5, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclInvalidArgument) << "a call of it was wrong";
  EXPECT_EQ(info.estimatedTime, NCCL_UNDEF_FLOAT);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "the group has ended";
  ncclUniqueId id;
  ncclComm_t other = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&other, 1, id, 0), ncclSuccess);
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclInvalidUsage);
  EXPECT_THAT(last_sentence(), HasSubstr("set-up"));
  EXPECT_EQ(ncclCommDestroy(other), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  info.magic = 0;
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
}

TEST(Group, SetUpAndCommunicationDoNotMix) {
  Alone comm;
  ncclUniqueId id;
  ncclComm_t other = nullptr;
  int value = 1;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&other, 1, id, 0), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_THAT(last_sentence(), HasSubstr("not both"));
  EXPECT_EQ(ncclCommDestroy(other), ncclSuccess);
}

TEST(Group, BlockingAndNonBlockingDoNotMix) {
  Alone comm;
  ncclUniqueId id;
  ncclComm_t other = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRankConfig(&other, 1, id, 0, &config), ncclInProgress);
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) ASSERT_EQ(ncclCommGetAsyncError(other, &state), ncclSuccess);
  ASSERT_EQ(state, ncclSuccess);
  int value = 1;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, other, nullptr), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("non-blocking"));
  EXPECT_EQ(ncclCommDestroy(other), ncclSuccess);
}

TEST(Group, AllRanksOfOneThread) {
  constexpr int kRanks = 4;
  ncclComm_t comms[kRanks];
  ASSERT_EQ(ncclCommInitAll(comms, kRanks, nullptr), ncclSuccess) << last_sentence();
  std::vector<std::vector<float>> in(kRanks), out(kRanks);
  for (int repetition = 0; repetition < 3; ++repetition) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < kRanks; ++rank) {
      in[rank].assign(1001, static_cast<float>(rank + 1));
      out[rank].assign(1001, 0);
      EXPECT_EQ(
          ncclAllReduce(in[rank].data(), out[rank].data(), 1001, ncclFloat, ncclSum, comms[rank], nullptr),
          ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    for (const auto& sums : out) EXPECT_THAT(sums, ::testing::Each(10.0f));
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    int own = -1, device = -1;
    EXPECT_EQ(ncclCommUserRank(comms[rank], &own), ncclSuccess);
    EXPECT_EQ(ncclCommCuDevice(comms[rank], &device), ncclSuccess);
    EXPECT_EQ(own, rank);
    EXPECT_EQ(device, rank);
  }
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Group, SeveralSplitsOfOneCommunicator) {
  with_ranks(4, [](ncclComm_t comm, int rank) {
    ncclComm_t halves = nullptr, reversed = nullptr, none = comm;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclCommSplit(comm, rank / 2, rank, &halves, nullptr), ncclSuccess);
    EXPECT_EQ(ncclCommSplit(comm, 0, -rank, &reversed, nullptr), ncclSuccess);
    EXPECT_EQ(ncclCommSplit(comm, rank == 3 ? 0 : NCCL_SPLIT_NOCOLOR, 0, &none, nullptr), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    int number = -1;
    EXPECT_EQ(ncclCommCount(halves, &number), ncclSuccess);
    EXPECT_EQ(number, 2);
    EXPECT_EQ(ncclCommUserRank(reversed, &number), ncclSuccess);
    EXPECT_EQ(number, 3 - rank);
    EXPECT_EQ(none != nullptr, rank == 3);
    int sum = rank;
    EXPECT_EQ(ncclAllReduce(&sum, &sum, 1, ncclInt, ncclSum, halves, nullptr), ncclSuccess)
        << last_sentence();
    EXPECT_EQ(sum, rank < 2 ? 1 : 5);
    for (ncclComm_t child : {halves, reversed, none}) EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  });
}

}  // namespace
}  // namespace weir::api
