// SPDX-License-Identifier: Apache-2.0
// Jobs that pretend to run on another cluster (WEIR_PRETEND).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/library/processes.h"
#include "weir/places.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Two hosts of two GPUs; a NIC carries 20 MB/s.
constexpr const char* kMachine = "2 x (2 gpu nvswitch 0.1, 1 nic 0.02) leaf";
constexpr double kNicBytesPerSecond = 0.02e9;
constexpr size_t kCount = size_t{1} << 18;  // 1 MiB: at least 52 ms

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The least time of an all-reduce: each of the two hosts sends as many bytes as the buffer has.
double least_seconds(size_t count) { return static_cast<double>(count * sizeof(float)) / kNicBytesPerSecond; }

void pretend(const char* machine = kMachine) { setenv("WEIR_PRETEND", machine, 1); }

void sum(ncclComm_t comm, int ranks, size_t count) {
  std::vector<float> in(count, 1), out(count);
  expect_success(ncclAllReduce(in.data(), out.data(), count, ncclFloat, ncclSum, comm, nullptr),
                 "ncclAllReduce");
  for (const float value : out) ASSERT_EQ(value, static_cast<float>(ranks));
}

TEST(Pretended, SumsAreRightAndTakeTheirTime) {
  EXPECT_TRUE(all_well(run_ranks(4, [](const Rank& rank) {
    pretend();
    ncclComm_t comm = rank.connect();
    for (const size_t count : {kCount / 16, kCount / 4, kCount}) {
      const double begun = now_s();
      sum(comm, 4, count);
      EXPECT_GE(now_s() - begun, least_seconds(count)) << count;
    }
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

TEST(Pretended, TheTimeBeginsWithTheLastRank) {
  EXPECT_TRUE(all_well(run_ranks(4, [](const Rank& rank) {
    pretend();
    ncclComm_t comm = rank.connect();
    for (int late = 0; late < 4; ++late) {
      if (rank.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::vector<float> in(kCount, 1), out(kCount);
      const double begun = now_s();
      expect_success(ncclAllReduce(in.data(), out.data(), kCount, ncclFloat, ncclSum, comm, nullptr),
                     "all-reduce");
      const double ended = now_s();
      double begins[4];
      expect_success(ncclAllGather(&begun, begins, 1, ncclDouble, comm, nullptr), "all-gather");
      EXPECT_GE(ended - begins[late], least_seconds(kCount)) << "rank " << late << " was late";
    }
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

TEST(Pretended, MessagesGroupsAndSplitsTakeTheirTime) {
  EXPECT_TRUE(all_well(run_ranks(4, [](const Rank& rank) {
    pretend();
    ncclComm_t comm = rank.connect();
    std::vector<float> in(kCount, 1), out(kCount);
    const int far = (rank.rank() + 2) % 4;
    double begun = now_s();
    expect_success(ncclGroupStart(), "ncclGroupStart");
    expect_success(ncclSend(in.data(), kCount, ncclFloat, far, comm, nullptr), "ncclSend");
    expect_success(ncclRecv(out.data(), kCount, ncclFloat, far, comm, nullptr), "ncclRecv");
    expect_success(ncclGroupEnd(), "ncclGroupEnd");
    EXPECT_GE(now_s() - begun, least_seconds(kCount));
    for (const float value : out) ASSERT_EQ(value, 1);
    begun = now_s();
    expect_success(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < 2; ++i)
      expect_success(ncclAllReduce(in.data(), out.data(), kCount, ncclFloat, ncclSum, comm, nullptr),
                     "all-reduce");
    expect_success(ncclGroupEnd(), "ncclGroupEnd");
    EXPECT_GE(now_s() - begun, 2 * least_seconds(kCount));
    // One rank of each host: a child's ranks stay where they are, and its NICs are still those of the hosts.
    ncclComm_t child = nullptr;
    expect_success(ncclCommSplit(comm, rank.rank() % 2, rank.rank(), &child, nullptr), "ncclCommSplit");
    weirPlace_t places[2];
    ASSERT_EQ(weirCommPlaces(child, places), ncclSuccess) << ncclGetLastError(child);
    EXPECT_NE(places[0].host, places[1].host);
    begun = now_s();
    sum(child, 2, kCount);
    EXPECT_GE(now_s() - begun, least_seconds(kCount));
    expect_success(ncclCommDestroy(child), "ncclCommDestroy");
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

/// A folder of its own that goes away, with logs.
class PretendedFiles : public ::testing::Test {
 protected:
  PretendedFiles() {
    char name[] = "/tmp/weir_pretended_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~PretendedFiles() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }

 private:
  std::string folder_;
};

TEST_F(PretendedFiles, TheTopologyIsTheFilesAndTheLogSaysThatTheJobPretends) {
  EXPECT_TRUE(all_well(run_ranks(4, [&](const Rank& rank) {
    pretend();
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", path("log" + std::to_string(rank.rank())).c_str(), 1);
    setenv("NCCL_TOPO_DUMP_FILE", path("dump.xml").c_str(), 1);
    setenv("NCCL_TOPO_DUMP_FILE_RANK", "3", 1);
    ncclComm_t comm = rank.connect();
    weirPlace_t places[4];
    ASSERT_EQ(weirCommPlaces(comm, places), ncclSuccess) << ncclGetLastError(comm);
    for (int other = 0; other < 4; ++other) EXPECT_EQ(places[other].host, other / 2) << other;
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
  const std::string log = read("log0");
  EXPECT_THAT(log, StartsWith(std::string("weir PRETENDS to run on ") + kMachine));
  EXPECT_THAT(log, HasSubstr("Topology: 2 nodes each with 1 NUMA node, 2 GPUs"));
  EXPECT_THAT(read("log3"), HasSubstr("rank 3 of 4 pretends to be GPU 1 of host1"));
  EXPECT_THAT(read("dump.xml"),
              AllOf(HasSubstr("<system version=\"1\""), HasSubstr("<gpu "), HasSubstr("<net ")));
}

TEST_F(PretendedFiles, WithoutItNothingPretends) {
  EXPECT_TRUE(all_well(run_ranks(2, [&](const Rank& rank) {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", path("log" + std::to_string(rank.rank())).c_str(), 1);
    ncclComm_t comm = rank.connect();
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
  EXPECT_THAT(read("log0"), Not(HasSubstr("PRETEND")));
}

TEST(Pretended, ScaleZeroKeepsNobodyWaiting) {
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    pretend("2 x (1 gpu, 1 nic 0.0001) leaf@0");  // 100 KB/s: seven minutes, were it kept
    ncclComm_t comm = rank.connect();
    sum(comm, 2, size_t{10} << 20);
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

TEST(Pretended, AnAbortEndsALongCall) {
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    pretend("2 x (1 gpu, 1 nic 0.0001) leaf");  // 100 KB/s: seven minutes
    ncclComm_t comm = rank.connect();
    std::vector<float> in(size_t{10} << 20, 1);
    std::thread other([&] {
      rank.reach(1);
      rank.wait_until_reached(1 - rank.rank(), 1);
      ncclCommAbort(comm);
    });
    (void)ncclAllReduce(in.data(), in.data(), in.size(), ncclFloat, ncclSum, comm, nullptr);
    other.join();
  })));
}

void fail_to_meet(const Rank& rank, ncclResult_t code, const std::string& words) {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, rank.ranks(), rank.id(), rank.rank()), code);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr(words));
}

TEST(Pretended, MoreRanksThanGpusAreRefused) {
  EXPECT_TRUE(all_well(run_ranks(5, [](const Rank& rank) {
    pretend();
    fail_to_meet(rank, ncclInvalidUsage, "the communicator has 5 ranks, but");
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("has 4 GPUs"));
  })));
}

TEST(Pretended, AWrongFileIsRefused) {
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    pretend("/nowhere/dgx.xml");
    fail_to_meet(rank, ncclInvalidArgument, "WEIR_PRETEND: there is no file /nowhere/dgx.xml");
  })));
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    pretend("2 x (1 gpu, 1 nic 1)");
    fail_to_meet(rank, ncclInvalidArgument, "WEIR_PRETEND: ");
  })));
}

TEST(Pretended, RanksThatDifferAreRefused) {
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    if (rank.rank() == 0) pretend();
    fail_to_meet(rank, ncclInvalidUsage, "WEIR_PRETEND");
  })));
}

}  // namespace
}  // namespace weir::testing
