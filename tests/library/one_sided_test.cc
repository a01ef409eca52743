// SPDX-License-Identifier: Apache-2.0
// One-sided calls between processes, over each way that they can take: data before signals, targets that are
// busy elsewhere, targets that die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/library/processes.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void await(int count, int peer, ncclComm_t comm) {
  ncclWaitSignalDesc_t wait = {count, peer, 0, 0};
  expect_success(ncclWaitSignal(1, &wait, comm, nullptr), "ncclWaitSignal");
}

void meet(ncclComm_t comm) {
  int one = 1;
  expect_success(ncclAllReduce(&one, &one, 1, ncclInt, ncclSum, comm, nullptr), "ncclAllReduce");
}

class OneSided : public ::testing::TestWithParam<std::string> {};

TEST_P(OneSided, DataIsThereWhenItsSignalIs) {
  constexpr int kRanks = 3;
  constexpr size_t kCount = 700'000;  // several pieces
  EXPECT_TRUE(all_well(run_ranks(kRanks, [&](const Rank& rank) {
    setenv("WEIR_TRANSPORTS", GetParam().c_str(), 1);
    ncclComm_t comm = rank.connect();
    const int own = rank.rank(), next = (own + 1) % kRanks, previous = (own + kRanks - 1) % kRanks;
    std::vector<int> data(kCount), memory(kCount + 1, -1);
    ncclWindow_t window = nullptr;
    expect_success(ncclCommWindowRegister(comm, memory.data(), memory.size() * sizeof(int), &window, 0),
                   "register");
    for (int round = 0; round < 5; ++round) {
      data.assign(kCount, 100 * round + own);
      expect_success(
          ncclPutSignal(data.data(), kCount, ncclInt, next, window, sizeof(int), 0, 0, 0, comm, nullptr),
          "ncclPutSignal");
      await(1, previous, comm);
      EXPECT_EQ(std::count(memory.begin() + 1, memory.end(), 100 * round + previous), std::ssize(memory) - 1);
      EXPECT_EQ(memory[0], -1);
      await(0, previous,
            comm);  // an order that ThreadSanitizer sees: it knows of none through another process
      meet(comm);   // all have looked
    }
    for (int i = 0; i < 10; ++i) expect_success(ncclSignal(next, 0, 0, 0, comm, nullptr), "ncclSignal");
    await(4, previous, comm);
    await(6, previous, comm);
    meet(comm);
    expect_success(ncclCommWindowDeregister(comm, window), "deregister");
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

TEST_P(OneSided, ATargetNeedNotBeInACall) {
  EXPECT_TRUE(all_well(run_ranks(2, [&](const Rank& rank) {
    setenv("WEIR_TRANSPORTS", GetParam().c_str(), 1);
    ncclComm_t comm = rank.connect();
    std::vector<int> memory(2'000'000, rank.rank());
    ncclWindow_t window = nullptr;
    expect_success(ncclCommWindowRegister(comm, memory.data(), memory.size() * sizeof(int), &window, 0),
                   "register");
    if (rank.rank() == 0) {
      std::vector<int> data(memory.size(), 7);
      expect_success(ncclPutSignal(data.data(), data.size(), ncclInt, 1, window, 0, 0, 0, 0, comm, nullptr),
                     "ncclPutSignal");
      rank.reach(1);
    } else {
      rank.wait_until_reached(0, 1);  // in no call of the library
      await(1, 0, comm);
      EXPECT_EQ(std::ranges::count(memory, 7), std::ssize(memory));
    }
    meet(comm);
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

TEST_P(OneSided, ATargetThatDiesIsNamed) {
  const auto endings = run_ranks(2, [&](const Rank& rank) {
    setenv("WEIR_TRANSPORTS", GetParam().c_str(), 1);
    ncclComm_t comm = rank.connect();
    int memory = 0;
    ncclWindow_t window = nullptr;
    expect_success(ncclCommWindowRegister(comm, &memory, sizeof(memory), &window, 0), "register");
    meet(comm);
    if (rank.rank() == 1) kill(getpid(), SIGKILL);
    ncclResult_t result = ncclSuccess;
    while (result == ncclSuccess)
      result = ncclPutSignal(&memory, 1, ncclInt, 1, window, 0, 0, 0, 0, comm, nullptr);
    fprintf(stderr, "%d %s\n", result, ncclGetLastError(comm));
    ncclCommAbort(comm);
  });
  EXPECT_EQ(endings[0].code, 0) << endings[0].output;
  EXPECT_THAT(endings[0].output, AllOf(HasSubstr("6 "), HasSubstr("rank 1 (pid")));
}

TEST_P(OneSided, ASenderThatDiesIsNamedByWhoWaits) {
  const auto endings = run_ranks(2, [&](const Rank& rank) {
    setenv("WEIR_TRANSPORTS", GetParam().c_str(), 1);
    ncclComm_t comm = rank.connect();
    meet(comm);
    if (rank.rank() == 1) kill(getpid(), SIGKILL);
    ncclWaitSignalDesc_t wait = {1, 1, 0, 0};
    const ncclResult_t result = ncclWaitSignal(1, &wait, comm, nullptr);
    fprintf(stderr, "%d %s\n", result, ncclGetLastError(comm));
    ncclCommAbort(comm);
  });
  EXPECT_EQ(endings[0].code, 0) << endings[0].output;
  EXPECT_THAT(endings[0].output,
              AllOf(HasSubstr("6 "), HasSubstr("rank 1 (pid"), HasSubstr("ncclWaitSignal")));
}

INSTANTIATE_TEST_SUITE_P(Over, OneSided, ::testing::Values("loop,shm", "loop,cma", "loop,tcp"),
                         [](const auto& way) { return way.param.substr(way.param.find(',') + 1); });

}  // namespace
}  // namespace weir::testing
