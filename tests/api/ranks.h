// SPDX-License-Identifier: Apache-2.0
/// Ranks as threads of the test, each with a communicator of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "src/api/abi.h"

namespace weir::api {

/// As many as most tests need.
inline constexpr int kRanks = 3;

inline std::string last_sentence() { return ncclGetLastError(nullptr); }

/// Calls act(rank, id) on a thread per rank.
inline void on_threads(int ranks, const std::function<void(int, const ncclUniqueId&)>& act) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess) << last_sentence();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&, rank] { act(rank, id); });
  for (std::thread& thread : threads) thread.join();
}

/// Calls act(comm, rank) on a thread per rank, between the making and the destroying of its communicator.
inline void with_ranks(int ranks, const std::function<void(ncclComm_t, int)>& act) {
  on_threads(ranks, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclSuccess) << last_sentence();
    act(comm, rank);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess) << last_sentence();
  });
}

/// For ranks that are refused alike: the last sentence is that of the process.
class Together {
 public:
  explicit Together(int ranks) : ranks_(ranks) {}

  /// Reads it when all have made their call, before any of them makes another.
  std::string sentence() {
    ranks_.arrive_and_wait();
    std::string sentence = last_sentence();
    ranks_.arrive_and_wait();
    return sentence;
  }

 private:
  std::barrier<> ranks_;
};

/// The sum of all ranks' values.
inline int sum_over(ncclComm_t comm, int value) {
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess)
      << last_sentence();
  return value;
}

/// A communicator of one rank.
class Alone {
 public:
  Alone() {
    ncclUniqueId id;
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess) << last_sentence();
    EXPECT_EQ(ncclCommInitRank(&comm_, 1, id, 0), ncclSuccess) << last_sentence();
  }
  ~Alone() { EXPECT_EQ(ncclCommDestroy(comm_), ncclSuccess) << last_sentence(); }
  operator ncclComm_t() const { return comm_; }  // NOLINT(google-explicit-constructor)

 private:
  ncclComm_t comm_ = nullptr;
};

}  // namespace weir::api
