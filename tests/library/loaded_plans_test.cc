// SPDX-License-Identifier: Apache-2.0
// Communicators run the plans of WEIR_PLAN_FILE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/library/processes.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// An all-reduce of three ranks: all send to rank 0, which sends the sum to all.
constexpr const char* kStar = R"(weir plan 1
algorithm star
collective all_reduce
ranks 3
chunks 1
scratch 0
bytes 1000 100000
moves 4
0 send 1.0 0.0 from input 0 with input 0
1 send 2.0 0.0 from input 0 with value 0 to output 0
2 send 0.0 1.0 from value 1 to output 0
3 send 0.0 2.0 from value 1 to output 0
end
)";

/// A folder of its own that goes away.
class LoadedPlans : public ::testing::Test {
 protected:
  LoadedPlans() {
    char name[] = "/tmp/weir_loaded_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~LoadedPlans() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
    return path(name);
  }

  void configure(const Rank& rank, const std::string& plans, const std::string& transports) const {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", path("log" + std::to_string(rank.rank())).c_str(), 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT,TUNING", 1);
    setenv("WEIR_TRANSPORTS", transports.c_str(), 1);
    if (rank.rank() == 0) setenv("WEIR_PLAN_FILE", plans.c_str(), 1);  // the others get it from rank 0
  }

  /// Three ranks sum arrays of these sizes, twice each; what rank 2 logs.
  std::string log_of_sums(const std::string& plans, const std::string& transports,
                          const std::vector<size_t>& counts, const char* name = nullptr) const {
    EXPECT_TRUE(all_well(run_ranks(3, [&](const Rank& rank) {
      configure(rank, plans, transports);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.commName = name;
      ncclComm_t comm = rank.connect(&config);
      for (int turn = 0; turn < 2; ++turn) {
        for (const size_t count : counts) {
          std::vector<float> data(count, static_cast<float>(rank.rank() + 1));
          expect_success(ncclAllReduce(data.data(), data.data(), count, ncclFloat, ncclSum, comm, nullptr),
                         "ncclAllReduce");
          EXPECT_EQ(data, std::vector<float>(count, 6)) << count;
        }
      }
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    })));
    std::ostringstream text;
    text << std::ifstream(path("log2")).rdbuf();
    std::filesystem::remove(path("log2"));
    return text.str();
  }

 private:
  std::string folder_;
};

TEST_F(LoadedPlans, RunForTheSizesThatTheyAreFor) {
  const std::string file = write("star.plan", kStar);
  for (const char* const transports : {"loop,shm", "loop,tcp"}) {
    const std::string log = log_of_sums(file, transports, {2, 249, 250, 256, 25'000, 25'001});
    EXPECT_THAT(
        log, AllOf(HasSubstr("all_reduce: 1000 bytes -> the plan of " + file),
                   HasSubstr("all_reduce: 100000 bytes -> the plan of " + file),
                   Not(HasSubstr("996 bytes -> the plan of")), Not(HasSubstr("100004 bytes -> the plan of"))))
        << transports;
  }
}

TEST_F(LoadedPlans, RunInTheirMessages) {
  const std::string whole = log_of_sums(write("whole.plan", kStar), "loop,shm", {25'000});
  EXPECT_THAT(whole, HasSubstr("whole.plan, in tiles of 65536 bytes"));
  std::string small = kStar;
  small.insert(small.find("moves"), "message 4096\n");
  const std::string parts = log_of_sums(write("small.plan", small), "loop,shm", {25'000});
  EXPECT_THAT(parts, HasSubstr("small.plan, in tiles of 4096 bytes"));
  std::string large = kStar;
  large.insert(large.find("moves"), "message 1000000\n");
  const std::string slots = log_of_sums(write("large.plan", large), "loop,shm", {25'000});
  EXPECT_THAT(slots, HasSubstr("large.plan, in tiles of 65536 bytes"));
}

TEST_F(LoadedPlans, AreChosenByTheCommunicatorsName) {
  write("data/star.plan", kStar);
  EXPECT_THAT(log_of_sums(path(""), "loop,shm", {250}, "data"),
              HasSubstr("-> the plan of " + path("data/star.plan")));
  EXPECT_THAT(log_of_sums(path(""), "loop,shm", {250}), Not(HasSubstr("-> the plan of")));
}

TEST_F(LoadedPlans, WrongOnesAreRefusedOnAllRanks) {
  std::string wrong = kStar;
  wrong.replace(wrong.find("with value 0"), 12, "with input 0");
  const std::string file = write("wrong.plan", wrong);
  EXPECT_TRUE(all_well(run_ranks(3, [&](const Rank& rank) {
    configure(rank, file, "loop,shm");
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 3, rank.id(), rank.rank()), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(nullptr),
                AllOf(HasSubstr("WEIR_PLAN_FILE of rank 0 ("),
                      HasSubstr("): " + file + " is not run, because its plan is wrong: move")));
  })));
}

/// Ranks 1 and 2 read the scratch of rank 0, which reads nobody's.
constexpr const char* kPulled = R"(weir plan 1
algorithm pulled
collective broadcast
ranks 3
root 0
chunks 1
scratch 1
moves 4
0 local 0.0 from input 0 to scratch 0
1 local 0.0 from input 0 to output 0
2 pull 0.0 1.0 from scratch 0 to output 0
3 pull 0.0 2.0 from scratch 0 to output 0
end
)";

TEST_F(LoadedPlans, RanksReadEachOthersScratchWhereTheyShareMemory) {
  const std::string file = write("pulled.plan", kPulled);
  for (const char* const transports : {"loop,shm", "loop,tcp"}) {
    const bool shares = std::string(transports) == "loop,shm";
    EXPECT_TRUE(all_well(run_ranks(3, [&](const Rank& rank) {
      configure(rank, file, transports);
      ncclComm_t comm = rank.connect();
      for (const size_t count : {size_t{1}, size_t{300'000}}) {
        std::vector<float> data(count, rank.rank() == 0 ? 7 : 0);
        const ncclResult_t result =
            ncclBroadcast(data.data(), data.data(), count, ncclFloat, 0, comm, nullptr);
        EXPECT_EQ(result, shares ? ncclSuccess : ncclInvalidUsage) << ncclGetLastError(nullptr);
        EXPECT_EQ(data == std::vector<float>(count, 7), shares || rank.rank() == 0);
      }
      expect_success(shares ? ncclCommDestroy(comm) : ncclCommAbort(comm), "the end");
    })));
  }
}

}  // namespace
}  // namespace weir::testing
