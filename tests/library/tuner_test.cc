// SPDX-License-Identifier: Apache-2.0
// Tuner plugins have a say in which plans run, the same on all ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/library/processes.h"
#include "weir/dump.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

size_t count_of(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class Tuned : public ::testing::Test {
 protected:
  using Settings = std::vector<std::pair<std::string, std::string>>;
  static constexpr int kRanks = 3;

  Tuned() {
    char name[] = "/tmp/weir_tuned_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Tuned() override { std::filesystem::remove_all(folder_); }

  static std::string plugin(int version) {
    return WEIR_FAKE_PLUGINS "/libnccl-tuner-fake" + std::to_string(version) + ".so";
  }

  /// Sums and gathers of a few and of many numbers.
  static void work(ncclComm_t comm, int rank, int ranks) {
    for (const size_t count : {size_t{4}, size_t{100'000}}) {
      std::vector<int> data(count, rank + 1), all(count * static_cast<size_t>(ranks), -1);
      expect_success(ncclAllGather(data.data(), all.data(), count, ncclInt, comm, nullptr), "ncclAllGather");
      for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int>(i / count) + 1);
      expect_success(ncclAllReduce(data.data(), data.data(), count, ncclInt, ncclSum, comm, nullptr),
                     "ncclAllReduce");
      ASSERT_EQ(data, std::vector<int>(count, ranks * (ranks + 1) / 2));
    }
  }

  /// What the ranks log, by rank. Settings by rank, the last ones for all further ranks.
  std::vector<std::string> logs(const std::vector<Settings>& settings,
                                const std::function<void(ncclComm_t, int)>& more = nullptr) const {
    EXPECT_TRUE(all_well(run_ranks(kRanks, [&](const Rank& rank) {
      setenv("NCCL_DEBUG", "INFO", 1);
      setenv("NCCL_DEBUG_SUBSYS", "INIT,TUNING", 1);
      setenv("NCCL_DEBUG_FILE", (folder_ + "/log" + std::to_string(rank.rank())).c_str(), 1);
      setenv("FAKE_TUNER_FILE", (folder_ + "/calls" + std::to_string(rank.rank())).c_str(), 1);
      for (const auto& [name, value] :
           settings[std::min(static_cast<size_t>(rank.rank()), settings.size() - 1)])
        setenv(name.c_str(), value.c_str(), 1);
      ncclComm_t comm = rank.connect();
      work(comm, rank.rank(), kRanks);
      if (more) more(comm, rank.rank());
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    })));
    std::vector<std::string> texts;
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string file = folder_ + "/log" + std::to_string(rank);
      texts.push_back(text_of(file));
      std::filesystem::remove(file);
    }
    return texts;
  }
  std::string dump_file() const { return folder_ + "/dump"; }
  std::string calls(int rank) const { return text_of(folder_ + "/calls" + std::to_string(rank)); }

 private:
  std::string folder_;
};

TEST_F(Tuned, AnswersAreFollowedOnAllRanks) {
  for (const int version : {2, 3, 4, 5, 6}) {
    const auto texts = logs({{{"NCCL_TUNER_PLUGIN", plugin(version)},
                              {"FAKE_TUNER_ANSWERS", "4:1:2:0:0:1000;4:0:2:0:1001:1000000000"}}});
    for (const std::string& text : texts) {
      EXPECT_THAT(text,
                  AllOf(HasSubstr("all_reduce: 16 bytes -> ring in"),
                        ContainsRegex("all_reduce: 400000 bytes -> (double_tree|binomial|tree4|tree8) in"),
                        Not(HasSubstr("all_gather: 16 bytes"))))
          << "version " << version;
    }
    EXPECT_THAT(texts[0], HasSubstr("TUNER/Plugin: Using fake tuner (v" + std::to_string(version) + ") of "));
    EXPECT_THAT(texts[0], HasSubstr("the fake tuner has 2 answers")) << "its own lines are in the log";
  }
  for (const std::string& text : logs({{}}))
    EXPECT_THAT(text, Not(HasSubstr("bytes -> "))) << "all is exchanged";
}

TEST_F(Tuned, RankZeroAnswersForAll) {
  const Settings rings = {{"NCCL_TUNER_PLUGIN", plugin(5)}, {"FAKE_TUNER_ANSWERS", "4:1:2:0:0:1000000000"}};
  const Settings trees = {{"NCCL_TUNER_PLUGIN", plugin(4)}, {"FAKE_TUNER_ANSWERS", "4:0:2:0:0:1000000000"}};
  const Settings fails = {{"NCCL_TUNER_PLUGIN", plugin(5)}, {"FAKE_TUNER_INIT", "2"}};
  for (const std::string& text : logs({rings, trees, fails}))
    EXPECT_THAT(text, AllOf(HasSubstr("all_reduce: 16 bytes -> ring in"),
                            HasSubstr("all_reduce: 400000 bytes -> ring in")));
  for (const std::string& text : logs({{}, trees, fails})) EXPECT_THAT(text, Not(HasSubstr("bytes -> ")));
}

TEST_F(Tuned, ChannelsAreRings) {
  const auto texts =
      logs({{{"NCCL_TUNER_PLUGIN", plugin(5)},
             {"FAKE_TUNER_ANSWERS", "4:1:2:1:0:1000;4:1:2:4:1001:1000000000;2:1:2:2:0:1000000000"}}});
  for (const std::string& text : texts) {
    EXPECT_THAT(text, AllOf(HasSubstr("all_reduce: 16 bytes -> ring in 3 chunks"),
                            HasSubstr("all_reduce: 400000 bytes -> ring_set in 12 chunks"),
                            HasSubstr("all_gather: 16 bytes -> ring_set in 2 chunks")));
  }
}

/// Messages that the channels of a rank have carried, from its dump.
size_t messages_in(const std::string& dump) {
  const auto report = nlohmann::json::parse(dump);
  size_t sum = 0;
  for (const auto& channel : report["communicators"][0]["channels"])
    if (channel["end"] == "send") sum += channel["messages"].get<size_t>();
  return sum;
}

TEST_F(Tuned, ChunksAreTilesOfPlans) {
  const std::string dump = dump_file();
  std::vector<size_t> messages;
  for (const char* const chunk : {"0", "8192", "1000000000", "1"}) {
    const auto texts = logs({{{"NCCL_TUNER_PLUGIN", plugin(6)},
                              {"FAKE_TUNER_ANSWERS", "4:1:2:0:1001:1000000000"},
                              {"FAKE_TUNER_CHUNK", chunk}}},
                            [&dump](ncclComm_t, int rank) {
                              if (rank == 0)
                                expect_success(static_cast<ncclResult_t>(weirDump(dump.c_str())), "weirDump");
                            });
    for (const std::string& text : texts)
      EXPECT_THAT(text, HasSubstr("all_reduce: 400000 bytes -> ring in 3 chunks")) << chunk;
    messages.push_back(messages_in(text_of(dump)));
  }
  // Each rank sends four chunks of 133334 bytes: two of sums, two of results.
  EXPECT_EQ(messages[1], 4U * ((133'334 + 8191) / 8192));
  EXPECT_LT(messages[0], messages[1]);
  EXPECT_LE(messages[2], messages[0]) << "not more than fits";
  EXPECT_GT(messages[3], messages[1]) << "at most 255 parts";
  EXPECT_THAT(calls(0), ContainsRegex("chunk 4 of 262144 by 1 2 over 1: [1-9][0-9]{4,}\n"));
  EXPECT_THAT(calls(0), Not(HasSubstr("chunk 2 "))) << "all-gathers are exchanged";
}

TEST_F(Tuned, LowLatencyIsTheExchange) {
  const auto texts = logs(
      {{{"NCCL_TUNER_PLUGIN", plugin(5)}, {"FAKE_TUNER_ANSWERS", "4:0:0:0:0:1000;4:1:2:0:1001:1000000000"}}});
  for (const std::string& text : texts)
    EXPECT_THAT(text, AllOf(Not(HasSubstr("all_reduce: 16 bytes")),
                            HasSubstr("all_reduce: 400000 bytes -> ring in")));
}

/// Costs of the 21 ways, in NCCL's order: LL, LL128 and Simple of Tree, Ring, ..., PAT.
std::vector<double> offered(const std::string& calls, const std::string& question) {
  const size_t at = calls.find("\n" + question);
  if (at == std::string::npos) return {};
  std::istringstream line(calls.substr(at + 1 + question.size()));
  std::vector<double> costs;
  for (double cost; costs.size() < 21 && line >> cost;) costs.push_back(cost);
  return costs;
}

TEST_F(Tuned, CostsAreThoseOfThePlanner) {
  logs({{{"NCCL_TUNER_PLUGIN", plugin(5)}}});
  const std::string told = calls(0);
  EXPECT_THAT(told, HasSubstr("init 3 ranks 1 nodes, 1 domains of 3 to 3 ranks"));
  EXPECT_THAT(calls(1), Not(HasSubstr("ask"))) << "rank 0 answers for all";
  const auto small = offered(told, "ask 4 of 1:"), large = offered(told, "ask 4 of 1048576:");
  ASSERT_EQ(small.size(), 21U) << told;
  ASSERT_EQ(large.size(), 21U) << told;
  constexpr size_t kExchange = 0, kTree = 2, kRing = 5;
  for (size_t way = 0; way < 21; ++way) {
    const bool known = way == kExchange || way == kTree || way == kRing;
    EXPECT_EQ(small[way] >= 0, known) << way << " of an all-reduce";
    if (known) {
      EXPECT_GT(large[way], small[way]) << way;
    }
  }
  const auto gathered = offered(told, "ask 2 of 12:");  // 4 bytes of each of 3 ranks
  ASSERT_EQ(gathered.size(), 21U) << told;
  EXPECT_GT(gathered[20], 0) << "PAT";
  EXPECT_GT(gathered[kRing], 0);
  EXPECT_EQ(gathered[kTree], -1);
}

TEST_F(Tuned, WhatIsNotThereIsIgnored) {
  const auto texts =
      logs({{{"NCCL_TUNER_PLUGIN", plugin(5)}, {"FAKE_TUNER_ANSWERS", "4:4:2:16:0:1000000000"}}});
  EXPECT_THAT(texts[0],
              HasSubstr("fake tuner: it chose NVLS with Simple for all_reduce, which this communicator does "
                        "not have; ignoring its answer for 30 sizes"));
  for (const std::string& text : texts) EXPECT_THAT(text, Not(HasSubstr("bytes -> ")));
}

TEST_F(Tuned, APluginThatFailsIsAWarning) {
  EXPECT_THAT(logs({{{"NCCL_TUNER_PLUGIN", plugin(5)}, {"FAKE_TUNER_INIT", "3"}}})[0],
              ContainsRegex("NCCL WARN tuner plugin fake tuner .*init failed with result 3 .internal error.; "
                            "algorithms are chosen without it"));
  EXPECT_THAT(
      logs({{{"NCCL_TUNER_PLUGIN", "nobody"}}})[0],
      HasSubstr("NCCL WARN NCCL_TUNER_PLUGIN=nobody: could not find nobody, libnccl-tuner-nobody.so"));
  EXPECT_THAT(logs({{{"NCCL_TUNER_PLUGIN", plugin(4)},
                     {"FAKE_TUNER_RESULT", "1"},
                     {"FAKE_TUNER_ANSWERS", "4:1:2:0:0:1000000000"}}})[0],
              AllOf(HasSubstr("getCollInfo failed with result 1"), Not(HasSubstr("bytes -> "))));
}

TEST_F(Tuned, EachCommunicatorHasItsOwn) {
  logs({{{"NCCL_TUNER_PLUGIN", plugin(5)}}}, [](ncclComm_t comm, int rank) {
    ncclComm_t half = nullptr;
    expect_success(ncclCommSplit(comm, rank == 2 ? 1 : 0, rank, &half, nullptr), "ncclCommSplit");
    work(half, rank == 2 ? 0 : rank, rank == 2 ? 1 : 2);
    expect_success(ncclCommDestroy(half), "ncclCommDestroy");
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string told = calls(rank);
    EXPECT_EQ(count_of(told, "init "), 2U) << told;
    EXPECT_EQ(count_of(told, "finalize"), 2U) << told;
    EXPECT_THAT(told, HasSubstr(rank == 2 ? "init 1 ranks" : "init 2 ranks"));
  }
}

}  // namespace
}  // namespace weir::testing
