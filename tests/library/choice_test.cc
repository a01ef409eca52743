// SPDX-License-Identifier: Apache-2.0
// Which plans communicators choose, and from what they know it, as their log shows.
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
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// Ranks with settings; a folder of its own that goes away.
class Choice : public ::testing::Test {
 protected:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  Choice() {
    char name[] = "/tmp/weir_choice_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Choice() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  /// Some ranks that sum; what rank 0 logs.
  std::string log_of_sums(const Settings& settings, int ranks = 3,
                          ncclConfig_t config = NCCL_CONFIG_INITIALIZER) const {
    EXPECT_TRUE(all_well(run_ranks(ranks, [&](const Rank& rank) {
      setenv("NCCL_DEBUG", "INFO", 1);
      setenv("NCCL_DEBUG_FILE", path("log" + std::to_string(rank.rank())).c_str(), 1);
      setenv("WEIR_CACHE_DIR", path("cache").c_str(), 1);
      for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
      ncclConfig_t own = config;
      ncclComm_t comm = rank.connect(&own);
      for (const size_t count : {size_t{1}, size_t{100'000}}) {
        std::vector<float> data(count, 1);
        expect_success(ncclAllReduce(data.data(), data.data(), count, ncclFloat, ncclSum, comm, nullptr),
                       "ncclAllReduce");
        EXPECT_EQ(data, std::vector<float>(count, static_cast<float>(ranks)));
      }
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    })));
    std::ostringstream text;
    text << std::ifstream(path("log0")).rdbuf();
    std::filesystem::remove(path("log0"));
    return text.str();
  }

 private:
  std::string folder_;
};

const std::pair<std::string, std::string> kTcp = {"WEIR_TRANSPORTS", "loop,tcp"};
const std::pair<std::string, std::string> kCalibrated = {"WEIR_CALIBRATION", "1"};

TEST_F(Choice, WhatWasMeasuredOnceIsKnown) {
  for (const auto& transports : {kTcp, std::pair<std::string, std::string>{"WEIR_TRANSPORTS", "loop,shm"}}) {
    const std::string first = log_of_sums({transports, kCalibrated});
    if (first.find("they are implausibly low, as if the hosts were busy") != std::string::npos) continue;
    EXPECT_THAT(first, HasSubstr("measured the rates of channels and sums in "));
    EXPECT_THAT(log_of_sums({transports, kCalibrated}),
                AllOf(HasSubstr("Costs: "), Not(HasSubstr("measured the rates"))));
  }
}

TEST_F(Choice, TheLogSaysWhoAnswers) {
  EXPECT_THAT(log_of_sums({}, 2), AllOf(ContainsRegex("weir [0-9.]+ was loaded from .*/libnccl\\.so"),
                                        HasSubstr("rank 0 of 2 uses host memory")));
}

TEST_F(Choice, GraphFilesOfNcclOrderRanks) {
  const std::string ring = write("ring.xml", R"(<graphs version="1">
<graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="24" speedinter="12" latencyinter="0" typeintra="NVL"
 typeinter="PXN" samechannels="0"><channel><gpu dev="2"/><gpu dev="0"/><gpu dev="1"/></channel></graph></graphs>)");
  const Settings settings = {{"WEIR_ALGO", "ring"}, {"WEIR_FAST", "0"}};
  Settings with_ring = settings, without = settings;
  with_ring.emplace_back("NCCL_GRAPH_FILE", ring);
  without.emplace_back("NCCL_GRAPH_FILE", path("none.xml"));
  EXPECT_THAT(log_of_sums(with_ring), HasSubstr("plans use the devices of a host in the order 2, 0, 1"));
  EXPECT_THAT(log_of_sums(without),
              AllOf(HasSubstr("none.xml cannot be read"), Not(HasSubstr("in the order"))));
}

TEST_F(Choice, SeveralRingsRunSideBySide) {
  const std::string rings = write("rings.xml", R"(<graphs version="1">
<graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="24" speedinter="12" latencyinter="0" typeintra="NVL"
 typeinter="PXN" samechannels="0">
<channel><gpu dev="2"/><gpu dev="0"/><gpu dev="1"/><gpu dev="3"/></channel>
<channel><gpu dev="0"/><gpu dev="3"/><gpu dev="2"/><gpu dev="1"/></channel></graph></graphs>)");
  const Settings settings = {{"WEIR_FAST", "0"},
                             {"NCCL_DEBUG_SUBSYS", "INIT,GRAPH"},
                             {"WEIR_TRANSPORTS", "loop,shm"},
                             {"WEIR_CALIBRATION", "0"}};
  const auto log = [&](const Settings& more) {
    Settings all = settings;
    all.insert(all.end(), more.begin(), more.end());
    return log_of_sums(all, 4);
  };
  const auto several = AllOf(HasSubstr("all_reduce from     1  ring_set"), Not(HasSubstr("  then ")));
  const std::pair<std::string, std::string> file = {"NCCL_GRAPH_FILE", rings};
  EXPECT_THAT(log({file, {"WEIR_ALGO", "ring"}}),
              AllOf(several, HasSubstr("Ring 00/02 : 2 0 1 3"), HasSubstr("Ring 01/02 : 0 3 2 1")));
  EXPECT_THAT(log({file, {"WEIR_ALGO", "ring_set"}, {"NCCL_MIN_NCHANNELS", "3"}}),
              AllOf(several, HasSubstr("Ring 02/03 : 2 0 1 3")));
  EXPECT_THAT(log({file, {"WEIR_ALGO", "ring"}, {"NCCL_MAX_NCHANNELS", "1"}}),
              AllOf(HasSubstr("all_reduce from     1  ring "), Not(HasSubstr("Ring 00"))));
  EXPECT_THAT(log({{"NCCL_MIN_NCHANNELS", "2"}, {"WEIR_ALGO", "ring"}}),
              AllOf(several, HasSubstr("Ring 01/02 : 0 1 2 3")));
  EXPECT_THAT(log({file, {"NCCL_MIN_NCHANNELS", "64"}, {"WEIR_ALGO", "ring"}}),
              AllOf(several, HasSubstr("Ring 31/32 : 0 3 2 1")));
  EXPECT_THAT(log({{"NCCL_MIN_NCHANNELS", "3"}, {"NCCL_MAX_NCHANNELS", "2"}}),
              AllOf(HasSubstr("NCCL_MIN_NCHANNELS=3 and NCCL_MAX_NCHANNELS=2 are ignored"),
                    Not(HasSubstr("Ring 00"))));
}

TEST_F(Choice, BoundsOfTheConfigBoundRings) {
  const auto log = [&](int least, int most, const Settings& more) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.minCTAs = least;
    config.maxCTAs = most;
    Settings all = {{"WEIR_FAST", "0"},
                    {"WEIR_ALGO", "ring"},
                    {"NCCL_DEBUG_SUBSYS", "INIT,GRAPH"},
                    {"WEIR_TRANSPORTS", "loop,shm"},
                    {"WEIR_CALIBRATION", "0"}};
    all.insert(all.end(), more.begin(), more.end());
    return log_of_sums(all, 3, config);
  };
  EXPECT_THAT(log(3, 4, {}), HasSubstr("Ring 02/03 : 0 1 2"));
  EXPECT_THAT(log(1, 64, {}), Not(HasSubstr("Ring 00")));
  EXPECT_THAT(log(1, 2, {{"NCCL_MIN_NCHANNELS", "4"}}), HasSubstr("Ring 01/02"));
  EXPECT_THAT(log(3, 3, {{"NCCL_MAX_NCHANNELS", "2"}}), HasSubstr("Ring 01/02"));
}

TEST_F(Choice, SimulatedHostsMeasureWhatIsBetween) {
  EXPECT_TRUE(all_well(run_ranks(5, [&](const Rank& rank) {
    setenv("NCCL_HOSTID", ("node" + std::to_string(rank.rank() % 2)).c_str(), 1);
    setenv("WEIR_CALIBRATION", "1", 1);
    setenv("WEIR_CACHE_DIR", path("cache").c_str(), 1);
    float one = 1;
    ncclComm_t comm = rank.connect();
    expect_success(ncclAllReduce(&one, &one, 1, ncclFloat, ncclSum, comm, nullptr), "ncclAllReduce");
    EXPECT_EQ(one, 5);
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
  int files = 0;
  if (!std::filesystem::exists(path("cache"))) return;  // the machine was too busy to keep anything
  for (const auto& entry : std::filesystem::directory_iterator(path("cache"))) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_THAT(text.str(), Not(HasSubstr("alpha 0\n"))) << "both kinds of channels were there";
    ++files;
  }
  EXPECT_EQ(files, 2) << "hosts of three and of two ranks";
}

TEST_F(Choice, WithoutCalibrationNothingIsMeasuredOrKept) {
  EXPECT_THAT(log_of_sums({kTcp, {"WEIR_CALIBRATION", "0"}}),
              AllOf(ContainsRegex("Costs: 1[25]\\.00 us per message"), Not(HasSubstr("measured the rates"))));
  EXPECT_FALSE(std::filesystem::exists(path("cache")));
}

TEST_F(Choice, AFileComesBeforeAll) {
  const std::string costs = write("costs", "inside.alpha 0.5\n");
  EXPECT_THAT(log_of_sums({kTcp, kCalibrated, {"WEIR_COST_FILE", costs}}),
              HasSubstr("Costs: 500000.00 us per message"));
  const std::string wrong = write("wrong", "inside.alpha 1\ninside.alhpa 1\n");
  EXPECT_THAT(log_of_sums({kTcp, {"WEIR_COST_FILE", wrong}}),
              AllOf(HasSubstr("WEIR_COST_FILE: " + wrong + ": line 2, \"inside.alhpa 1\": expected one of"),
                    ContainsRegex("Costs: 1[25]\\.00 us per message")));
  EXPECT_THAT(log_of_sums({kTcp, {"WEIR_COST_FILE", path("none")}}), HasSubstr("WEIR_COST_FILE: "));
}

/// A host at half the rate of the others: in a ring its cable carries 3/2 of all bytes, in trees all of them
/// once.
TEST_F(Choice, UnlikeHostsTakePlannedTrees) {
  const auto log_on = [&](const std::string& rate) {
    const std::string fabric = write("fabric",
                                     "weir fabric 1\nleaf leaf0\nhost node[0-3]\n"
                                     "attach node[0-1],node3 to leaf0 0.05G\nattach node2 to leaf0 " +
                                         rate + "\n");
    EXPECT_TRUE(all_well(run_ranks(4, [&](const Rank& rank) {
      // Ranks are not in the order of the hosts: plans are over places.
      setenv("NCCL_HOSTID", ("node" + std::to_string((rank.rank() + 1) % 4)).c_str(), 1);
      setenv("WEIR_FABRIC_FILE", fabric.c_str(), 1);
      setenv("WEIR_CALIBRATION", "0", 1);
      setenv("WEIR_TRANSPORTS", "tcp", 1);
      setenv("WEIR_FAST", "0", 1);
      setenv("NCCL_DEBUG", "INFO", 1);
      setenv("NCCL_DEBUG_FILE", path("log" + std::to_string(rank.rank())).c_str(), 1);
      ncclComm_t comm = rank.connect();
      const size_t count = 1'000'003;
      std::vector<int> data(count), sum(count);
      for (size_t i = 0; i < count; ++i) data[i] = static_cast<int>(i) * (rank.rank() + 1);
      expect_success(ncclAllReduce(data.data(), sum.data(), count, ncclInt, ncclSum, comm, nullptr),
                     "out of place");
      expect_success(ncclAllReduce(data.data(), data.data(), count, ncclInt, ncclSum, comm, nullptr),
                     "in place");
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(sum[i], 10 * static_cast<int>(i)) << i;
      EXPECT_EQ(data, sum);
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    })));
    std::ostringstream text;
    text << std::ifstream(path("log0")).rdbuf();
    return text.str();
  };
  EXPECT_THAT(log_on("0.025G"), ContainsRegex("all_reduce from +[0-9]+K +planned .* then ring"));
  EXPECT_THAT(log_on("0.05G"), Not(HasSubstr("planned")));
}

/// Hosts of two ranks, of which one has a slow cable: ranks of a host share memory and the cable.
TEST_F(Choice, UnlikeHostsOfSeveralRanksTakePlannedTrees) {
  const auto log_on = [&](const std::string& rate) {
    const std::string fabric = write("fabric",
                                     "weir fabric 1\nleaf leaf0\nhost node[0-3]\n"
                                     "attach node[0-1],node3 to leaf0 0.05G\nattach node2 to leaf0 " +
                                         rate + "\n");
    EXPECT_TRUE(all_well(run_ranks(8, [&](const Rank& rank) {
      setenv("NCCL_HOSTID", ("node" + std::to_string(rank.rank() % 4)).c_str(), 1);
      setenv("WEIR_FABRIC_FILE", fabric.c_str(), 1);
      setenv("WEIR_CALIBRATION", "0", 1);
      setenv("NCCL_DEBUG", "INFO", 1);
      setenv("NCCL_DEBUG_SUBSYS", "INIT,TUNING", 1);
      setenv("NCCL_DEBUG_FILE", path("log" + std::to_string(rank.rank())).c_str(), 1);
      ncclComm_t comm = rank.connect();
      const size_t count = 1'000'003;
      std::vector<int> data(count), sum(count);
      for (size_t i = 0; i < count; ++i) data[i] = static_cast<int>(i) * (rank.rank() + 1);
      expect_success(ncclAllReduce(data.data(), sum.data(), count, ncclInt, ncclSum, comm, nullptr), "sum");
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(sum[i], 36 * static_cast<int>(i)) << i;
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    })));
    std::string logs[2];
    for (const size_t rank : {0u, 4u}) {
      std::ostringstream text;
      text << std::ifstream(path("log" + std::to_string(rank))).rdbuf();
      logs[rank == 4u ? 1 : 0] = text.str();
    }
    return std::pair(logs[0], logs[1]);
  };
  const auto [slow, other_rank] = log_on("0.025G");
  EXPECT_THAT(slow, AllOf(ContainsRegex("all_reduce from +[0-9]+[KM] +planned "),
                          HasSubstr("all_reduce: 4000012 bytes -> planned in ")));
  EXPECT_THAT(other_rank, HasSubstr("all_reduce: 4000012 bytes -> planned in "));
  const auto [alike, unused] = log_on("0.05G");
  EXPECT_THAT(alike, Not(HasSubstr("planned")));
}

TEST_F(Choice, NcclAlgoIsRespected) {
  const std::string exchange = "collectives through shared memory";
  EXPECT_THAT(log_of_sums({}), HasSubstr(exchange));
  EXPECT_THAT(log_of_sums({{"NCCL_ALGO", "^NVLS"}}), HasSubstr(exchange));
  EXPECT_THAT(
      log_of_sums({{"NCCL_ALGO", "Ring"}}),
      AllOf(Not(HasSubstr(exchange)), HasSubstr("all_reduce from     1  ring"), Not(HasSubstr("then"))));
  EXPECT_THAT(log_of_sums({kTcp, {"NCCL_ALGO", "ring;allreduce:tree"}}),
              ContainsRegex("all_reduce from     1  (double_tree|tree[48])"));
  EXPECT_THAT(
      log_of_sums({{"NCCL_ALGO", "rings"}}),
      AllOf(HasSubstr(exchange), HasSubstr("NCCL_ALGO=rings is ignored: unknown algorithm \"rings\"")));
  EXPECT_THAT(
      log_of_sums({{"WEIR_ALGO", "rings"}}),
      AllOf(HasSubstr(exchange), HasSubstr("WEIR_ALGO=rings is ignored: unknown algorithm \"rings\"")));
}

TEST_F(Choice, NcclProtoIsRespected) {
  const std::string exchange = " through shared memory";
  EXPECT_THAT(log_of_sums({{"NCCL_PROTO", "simple"}}),
              AllOf(Not(HasSubstr(exchange)), HasSubstr("all_reduce from     1  ")));
  EXPECT_THAT(log_of_sums({{"NCCL_PROTO", "Simple;allreduce:LL"}}),
              AllOf(HasSubstr(", all_reduce through shared memory"),
                    HasSubstr("collectives without a fast path still use Simple")));
  EXPECT_THAT(log_of_sums({{"NCCL_PROTO", "^LL"}}),
              AllOf(HasSubstr("collectives through shared memory"), Not(HasSubstr("still use Simple"))));
  EXPECT_THAT(
      log_of_sums({{"NCCL_PROTO", "LL256"}}),
      AllOf(HasSubstr(exchange), HasSubstr("NCCL_PROTO=LL256 is ignored: unknown protocol \"LL256\"")));
}

TEST_F(Choice, RankZeroSaysForAllWhetherThereAreFastPaths) {
  EXPECT_TRUE(all_well(run_ranks(3, [&](const Rank& rank) {
    setenv("WEIR_FAST", rank.rank() == 1 ? "1" : "0", 1);
    setenv("NCCL_PROTO", rank.rank() == 2 ? "Simple" : "LL", 1);
    float one = 1;
    ncclComm_t comm = rank.connect();
    expect_success(ncclAllReduce(&one, &one, 1, ncclFloat, ncclSum, comm, nullptr), "ncclAllReduce");
    EXPECT_EQ(one, 3);
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

}  // namespace
}  // namespace weir::testing
