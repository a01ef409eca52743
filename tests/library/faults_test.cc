// SPDX-License-Identifier: Apache-2.0
// Ranks that die, stop, disagree or are told to give up: who is to blame is named on every other rank, in
// time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "tests/library/processes.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kVictim = 2;

/// Sums until something goes wrong, then says what. Who does not answer is lost after 2 seconds.
void sum_until_failure(const Rank& rank, size_t count) {
  setenv("WEIR_PEER_TIMEOUT", "2", 1);
  ncclComm_t comm = rank.connect();
  std::vector<float> data(count, 1);
  ncclResult_t result = ncclSuccess;
  for (int i = 0; result == ncclSuccess; ++i) {
    result = ncclAllReduce(data.data(), data.data(), count, ncclFloat, ncclMax, comm, nullptr);
    if (i == 20) rank.reach(1);
  }
  fprintf(stderr, "%d %s\n", result, ncclGetLastError(comm));
  ncclCommAbort(comm);
  rank.reach(1);
}

/// From the start, also on a machine that is busy with more than this: a wait without end is what must not
/// be.
constexpr double kSoonS = 40;

void expect_blamed(const std::vector<Ending>& endings) {
  for (int rank = 0; rank < static_cast<int>(endings.size()); ++rank) {
    if (rank == kVictim) continue;
    const Ending& ending = endings[static_cast<size_t>(rank)];
    EXPECT_EQ(ending.code, 0) << ending.output;
    EXPECT_THAT(ending.output, HasSubstr("6 ")) << "rank " << rank;
    EXPECT_THAT(ending.output, HasSubstr("rank 2 (pid")) << "rank " << rank;
    EXPECT_LT(ending.seconds, kSoonS) << "rank " << rank;
  }
}

class Fault : public ::testing::TestWithParam<std::tuple<std::string, size_t>> {};

TEST_P(Fault, AKilledRankIsNamed) {
  const auto& [transports, count] = GetParam();
  const auto endings = run_ranks(4, [&](const Rank& rank) {
    setenv("WEIR_TRANSPORTS", transports.c_str(), 1);
    std::thread killer;
    if (rank.rank() == kVictim) {
      killer = std::thread([&] {
        rank.wait_until_reached(kVictim, 1);
        kill(getpid(), SIGKILL);
      });
    }
    sum_until_failure(rank, count);
    if (killer.joinable()) killer.join();
  });
  EXPECT_EQ(endings[kVictim].code, -SIGKILL) << endings[kVictim].output;
  expect_blamed(endings);
}

TEST_P(Fault, AStoppedRankIsNamed) {
  const auto& [transports, count] = GetParam();
  const auto endings = run_ranks(4, [&](const Rank& rank) {
    setenv("WEIR_TRANSPORTS", transports.c_str(), 1);
    std::thread stopper;
    if (rank.rank() == kVictim) {
      stopper = std::thread([&] {
        rank.wait_until_reached(kVictim, 1);
        kill(getpid(), SIGSTOP);
      });
    }
    sum_until_failure(rank, count);
    if (stopper.joinable()) stopper.join();
  });
  expect_blamed(endings);
}

INSTANTIATE_TEST_SUITE_P(Transports, Fault,
                         ::testing::Values(std::tuple("loop,shm", 16), std::tuple("loop,shm", 500000),
                                           std::tuple("loop,cma", 1000), std::tuple("tcp", 16),
                                           std::tuple("tcp", 500000)),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
                           std::replace(name.begin(), name.end(), ',', '_');
                           return name;
                         });

TEST(Faults, WhoOnlyAsksForErrorsLearnsWhoHasDied) {
  const auto endings = run_ranks(4, [](const Rank& rank) {
    ncclComm_t comm = rank.connect();
    float one = 1;
    expect_success(ncclAllReduce(&one, &one, 1, ncclFloat, ncclSum, comm, nullptr), "ncclAllReduce");
    rank.reach(1);
    if (rank.rank() == kVictim) {
      for (int other = 0; other < rank.ranks(); ++other) rank.wait_until_reached(other, 1);
      kill(getpid(), SIGKILL);
    }
    ncclResult_t state = ncclSuccess;
    while (state == ncclSuccess) {
      expect_success(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
      usleep(10'000);
    }
    fprintf(stderr, "%d %s\n", state, ncclGetLastError(comm));
    ncclCommAbort(comm);
    rank.reach(2);
    for (int other = 0; other < rank.ranks(); ++other) {
      if (other != kVictim) rank.wait_until_reached(other, 2);
    }
  });
  EXPECT_EQ(endings[kVictim].code, -SIGKILL) << endings[kVictim].output;
  expect_blamed(endings);
}

TEST(Faults, ARankKilledBeforeItJoinsIsWaitedForOnlySoLong) {
  const auto endings = run_ranks(3, [](const Rank& rank) {
    setenv("WEIR_INIT_TIMEOUT", "2", 1);
    const ncclUniqueId id = rank.id();
    if (rank.rank() == kVictim) _exit(0);
    // On a busy machine one may begin long after the other, or be long in starting the library, and would be
    // missed, too.
    ncclUniqueId own;
    expect_success(ncclGetUniqueId(&own), "ncclGetUniqueId");
    rank.reach(1);
    rank.wait_until_reached(1 - rank.rank(), 1);
    ncclComm_t comm = nullptr;
    const ncclResult_t result = ncclCommInitRank(&comm, 3, id, rank.rank());
    fprintf(stderr, "%d %s\n", result, ncclGetLastError(nullptr));
    _exit(result == ncclSuccess ? 1 : 0);
  });
  for (const int rank : {0, 1}) {
    const Ending& ending = endings[static_cast<size_t>(rank)];
    EXPECT_EQ(ending.code, 0) << ending.output;
    EXPECT_THAT(ending.output, HasSubstr("(WEIR_INIT_TIMEOUT): rank 2"));
  }
}

/// Who is done with its init may leave, although others are still busy with theirs.
TEST(Leaving, AtOnceDisturbsNobody) {
  for (int round = 0; round < 40; ++round) {
    const auto endings = run_ranks(6, [](const Rank& rank) {
      ncclComm_t comm = rank.connect();
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    });
    ASSERT_TRUE(all_well(endings)) << "round " << round;
  }
}

/// Calls one thing on ranks 0 and 1 and another on rank 2.
template <typename Call>
void expect_mismatch(Call call, const std::vector<std::string>& words) {
  const auto endings = run_ranks(3, [&](const Rank& rank) {
    ncclComm_t comm = rank.connect();
    std::vector<double> in(4096, 1), out(3 * 4096);
    const ncclResult_t result = call(rank.rank() == kVictim, in.data(), out.data(), comm);
    fprintf(stderr, "%d %s\n", result, ncclGetLastError(comm));
    ncclCommAbort(comm);
    _exit(result == ncclInvalidUsage ? 0 : 1);
  });
  for (const Ending& ending : endings) {
    EXPECT_EQ(ending.code, 0) << ending.output;
    EXPECT_LT(ending.seconds, kSoonS);
    for (const std::string& word : words) EXPECT_THAT(ending.output, HasSubstr(word));
  }
}

TEST(Mismatch, OfCountsIsNamed) {
  expect_mismatch(
      [](bool odd, void* in, void* out, ncclComm_t comm) {
        return ncclAllReduce(in, out, odd ? 6 : 5, ncclFloat, ncclSum, comm, nullptr);
      },
      {"count 5", "count 6", "rank 2"});
}
TEST(Mismatch, OfVeryDifferentCountsIsNamed) {
  expect_mismatch(
      [](bool odd, void* in, void* out, ncclComm_t comm) {
        return ncclAllReduce(in, out, odd ? 4000 : 2, ncclDouble, ncclSum, comm, nullptr);
      },
      {"count 4000", "count 2", "rank 2"});
}
TEST(Mismatch, WithNothingIsNamed) {
  expect_mismatch(
      [](bool odd, void* in, void* out, ncclComm_t comm) {
        ncclResult_t result = ncclAllReduce(in, out, odd ? 0 : 2, ncclDouble, ncclSum, comm, nullptr);
        if (result == ncclSuccess) result = ncclAllReduce(in, out, 2, ncclDouble, ncclSum, comm, nullptr);
        return result;
      },
      {"count 0", "rank 2"});
}
TEST(Mismatch, OfTypesIsNamed) {
  expect_mismatch(
      [](bool odd, void* in, void* out, ncclComm_t comm) {
        return ncclAllReduce(in, out, 64, odd ? ncclInt32 : ncclFloat, ncclSum, comm, nullptr);
      },
      {"int32", "float32", "rank 2"});
}
TEST(Mismatch, OfOperationsIsNamed) {
  expect_mismatch(
      [](bool odd, void* in, void* out, ncclComm_t comm) {
        return ncclAllReduce(in, out, 64, ncclFloat, odd ? ncclMax : ncclSum, comm, nullptr);
      },
      {"max", "sum", "rank 2"});
}
TEST(Mismatch, OfRootsIsNamed) {
  expect_mismatch(
      [](bool odd, void* in, void* out, ncclComm_t comm) {
        ncclResult_t result = ncclBroadcast(in, out, 64, ncclFloat, odd ? 1 : 0, comm, nullptr);
        // Who only sends may be done before it hears of it.
        if (result == ncclSuccess) result = ncclAllReduce(in, out, 64, ncclFloat, ncclSum, comm, nullptr);
        return result;
      },
      {"root"});
}
TEST(Mismatch, OfCollectivesIsNamed) {
  expect_mismatch(
      [](bool odd, void* in, void* out, ncclComm_t comm) {
        return odd ? ncclAllGather(in, out, 64, ncclFloat, comm, nullptr)
                   : ncclAllReduce(in, out, 64, ncclFloat, ncclSum, comm, nullptr);
      },
      {"ncclAllGather", "ncclAllReduce", "rank 2"});
}

TEST(Abort, EndsACallOfAnotherThread) {
  const auto endings = run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = rank.connect();
    if (rank.rank() == 1) {
      rank.wait_until_reached(0, 1);
      ncclCommAbort(comm);
      return;
    }
    std::atomic<bool> inside{false};
    std::thread aborter([&] {
      while (!inside) usleep(1000);
      usleep(100'000);
      expect_success(ncclCommAbort(comm), "ncclCommAbort");
    });
    float data = 1;
    inside = true;
    EXPECT_NE(ncclAllReduce(&data, &data, 1, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    aborter.join();
    rank.reach(1);
  });
  EXPECT_TRUE(all_well(endings));
  EXPECT_LT(endings[0].seconds, kSoonS);
}

TEST(Abort, EndsAnInitThatNobodyElseJoins) {
  const auto endings = run_ranks(1, [](const Rank& rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, rank.id(), 0, &config), ncclInProgress);
    ASSERT_NE(comm, nullptr);
    usleep(200'000);
    ncclResult_t state = ncclSuccess;
    expect_success(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
    EXPECT_EQ(state, ncclInProgress);
    expect_success(ncclCommAbort(comm), "ncclCommAbort");
  });
  EXPECT_TRUE(all_well(endings));
  EXPECT_LT(endings[0].seconds, kSoonS);
}

}  // namespace
}  // namespace weir::testing
