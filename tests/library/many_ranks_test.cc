// SPDX-License-Identifier: Apache-2.0
// Communicators of many more ranks than there are cores: they start, and their sums stay right.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/library/processes.h"

namespace weir::testing {
namespace {

constexpr int kMany = kSanitized ? 16 : 256;  // threads of a process
constexpr int kSome = kSanitized ? 6 : 48;

/// One rank's part: sums over all, over all of the same parity, and who is where.
void take_part(const ncclUniqueId& id, int ranks, int rank) {
  ncclComm_t comm = nullptr;
  expect_success(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
  if (comm == nullptr) return;
  const auto expect_sum = [](ncclComm_t of, double own, double sum) {
    expect_success(ncclAllReduce(&own, &own, 1, ncclFloat64, ncclSum, of, nullptr), "ncclAllReduce");
    EXPECT_EQ(own, sum);
  };
  const double n = ranks;
  for (int turn = 0; turn < 3; ++turn) expect_sum(comm, rank, n * (n - 1) / 2);
  std::vector<int> everybody(static_cast<size_t>(ranks));
  expect_success(ncclAllGather(&rank, everybody.data(), 1, ncclInt32, comm, nullptr), "ncclAllGather");
  for (int other = 0; other < ranks; ++other) EXPECT_EQ(everybody[static_cast<size_t>(other)], other);
  ncclComm_t half = nullptr;
  expect_success(ncclCommSplit(comm, rank % 2, -rank, &half, nullptr), "ncclCommSplit");
  if (half != nullptr) expect_sum(half, 1, ranks / 2);
  expect_success(ncclCommDestroy(half), "ncclCommDestroy");
  expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
}

/// Each process has `count` ranks: in a row, or dealt out in turns.
void run_threads(const Rank& process, int count, bool in_turns) {
  std::vector<std::thread> threads;
  const ncclUniqueId id = process.id();
  const int ranks = process.ranks() * count;
  for (int i = 0; i < count; ++i) {
    const int rank = in_turns ? i * process.ranks() + process.rank() : process.rank() * count + i;
    threads.emplace_back([&id, ranks, rank] { take_part(id, ranks, rank); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ManyRanks, AsThreadsOfOneProcess) {
  EXPECT_TRUE(all_well(run_ranks(1, [](const Rank& process) { run_threads(process, kMany, false); })));
}

TEST(ManyRanks, AsThreadsOfThreeProcessesInTurns) {
  EXPECT_TRUE(all_well(run_ranks(3, [](const Rank& process) { run_threads(process, kSome, true); })));
}

/// How often `words` is in what all ranks wrote.
int count(const std::vector<Ending>& endings, const std::string& words) {
  int found = 0;
  for (const Ending& ending : endings) {
    for (size_t at = ending.output.find(words); at != std::string::npos;
         at = ending.output.find(words, at + 1))
      ++found;
  }
  return found;
}

/// Processes of `hosts` hosts that log their work, and use plans.
std::vector<Ending> run_logged(int processes, int hosts) {
  return run_ranks(processes, [&](const Rank& rank) {
    if (hosts > 1) setenv("NCCL_HOSTID", std::to_string(rank.rank() % hosts).c_str(), 1);
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "TUNING", 1);
    setenv("WEIR_FAST", "0", 1);
    ncclComm_t const comm = rank.connect();
    for (int turn = 0; turn < 2; ++turn) {
      double value = 1;
      expect_success(ncclAllReduce(&value, &value, 1, ncclFloat64, ncclSum, comm, nullptr), "ncclAllReduce");
      EXPECT_EQ(value, rank.ranks());
    }
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  });
}

TEST(ManyRanks, OneProcessOfAHostMakesTheTableAndThePlanOfAll) {
  constexpr int kProcesses = kSanitized ? 32 : 64;
  for (const int hosts : {1, 2}) {
    const std::vector<Ending> endings = run_logged(kProcesses, hosts);
    EXPECT_TRUE(all_well(endings));
    EXPECT_EQ(count(endings, " is proven "), hosts);
    EXPECT_EQ(count(endings, "all_reduce: from     1 "), hosts);
  }
}

TEST(ManyRanks, OnTwoHosts) {
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& process) {
    setenv("NCCL_HOSTID", process.rank() == 0 ? "one" : "other", 1);
    run_threads(process, kSome, false);
  })));
}

}  // namespace
}  // namespace weir::testing
