// SPDX-License-Identifier: Apache-2.0
// What profiler plugins are told: events in order, each with one end, in the group they belong to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "tests/library/processes.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kGroup = 1, kColl = 2, kP2p = 4, kProxy = 8, kStep = 16, kGroupApi = 256, kCollApi = 512,
              kP2pApi = 1024;
constexpr int kAll = kGroup | kColl | kP2p | kProxy | kStep | kGroupApi | kCollApi | kP2pApi;

struct Event {
  int kind = 0;
  int parent = 0;
  std::string words;
  std::vector<std::pair<int, size_t>> states;
  size_t begun = 0;  ///< line
  size_t ended = 0;  ///< 0: never
};

/// What one rank's plugin wrote, by event; mistakes in it are failures.
std::map<int, Event> events_in(const std::string& text) {
  std::map<int, Event> events;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string what;
    int id = 0;
    words >> what >> id;
    if (what == "start") {
      Event& event = events[id];
      int rank = 0;
      words >> event.kind >> event.parent >> rank;
      std::getline(words, event.words);
      event.begun = number;
      if (event.parent != 0) {
        EXPECT_TRUE(events.contains(event.parent)) << line;
        EXPECT_EQ(events[event.parent].ended, 0U) << line << ": its parent has ended";
      }
    } else if (what == "stop") {
      EXPECT_EQ(events[id].ended, 0U) << line << " twice";
      events[id].ended = number;
    } else if (what == "state") {
      int state = 0;
      size_t bytes = 0;
      words >> state >> bytes;
      EXPECT_EQ(events[id].ended, 0U) << line << " after its end";
      events[id].states.emplace_back(state, bytes);
    }
  }
  for (const auto& [id, event] : events) {
    EXPECT_GT(event.begun, 0U) << id << " has no beginning";
    EXPECT_GT(event.ended, event.begun) << id << event.words << " has no end";
    if (event.parent != 0) {
      EXPECT_LT(event.ended, events[event.parent].ended) << id << event.words;
    }
  }
  return events;
}

std::vector<Event> of_kind(const std::map<int, Event>& events, int kind) {
  std::vector<Event> found;
  for (const auto& [id, event] : events)
    if (event.kind == kind) found.push_back(event);
  return found;
}

class Profiled : public ::testing::Test {
 protected:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  Profiled() {
    char name[] = "/tmp/weir_profiled_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Profiled() override { std::filesystem::remove_all(folder_); }

  static std::string plugin(int version) {
    return WEIR_FAKE_PLUGINS "/libnccl-profiler-fake" + std::to_string(version) + ".so";
  }

  /// What the plugins of two ranks wrote while they did `act`, by rank.
  std::vector<std::string> told(int version, int mask, const Settings& settings,
                                const std::function<void(ncclComm_t, int)>& act, int ranks = 2) const {
    EXPECT_TRUE(all_well(run_ranks(ranks, [&](const Rank& rank) {
      setenv("NCCL_PROFILER_PLUGIN", plugin(version).c_str(), 1);
      setenv("FAKE_PROFILER_MASK", std::to_string(mask).c_str(), 1);
      setenv("FAKE_PROFILER_FILE", file(rank.rank()).c_str(), 1);
      setenv("NCCL_DEBUG", "INFO", 1);
      setenv("NCCL_DEBUG_FILE", (folder_ + "/log" + std::to_string(rank.rank())).c_str(), 1);
      for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.commName = "couple";
      ncclComm_t comm = nullptr;
      expect_success(ncclCommInitRankConfig(&comm, ranks, rank.id(), rank.rank(), &config),
                     "ncclCommInitRankConfig");
      if (comm == nullptr) return;
      act(comm, rank.rank());
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    })));
    std::vector<std::string> texts;
    for (int rank = 0; rank < ranks; ++rank) texts.push_back(read(file(rank)));
    return texts;
  }
  std::string log(int rank) const { return read(folder_ + "/log" + std::to_string(rank)); }

  static void sum(ncclComm_t comm, size_t count) {
    std::vector<float> data(count, 1);
    expect_success(ncclAllReduce(data.data(), data.data(), count, ncclFloat, ncclSum, comm, nullptr),
                   "ncclAllReduce");
    EXPECT_EQ(data, std::vector<float>(count, 2));
  }

 private:
  std::string file(int rank) const { return folder_ + "/events" + std::to_string(rank); }
  static std::string read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(name).rdbuf();
    std::filesystem::remove(name);
    return text.str();
  }

  std::string folder_;
};

const std::pair<std::string, std::string> kPlans = {"WEIR_FAST", "0"};
const std::pair<std::string, std::string> kRing = {"WEIR_ALGO", "ring"};

TEST_F(Profiled, ACollectiveIsAGroupOfItsOwn) {
  for (const int version : {1, 2, 3, 4, 5, 6, 7}) {
    const auto texts = told(version, kAll, {kPlans, kRing}, [](ncclComm_t comm, int) {
      sum(comm, 10);
      sum(comm, 1000);
    });
    for (size_t rank = 0; rank < 2; ++rank) {
      const std::string& text = texts[rank];
      EXPECT_THAT(text, HasSubstr(version < 4 ? "init nameless 0 nodes 0 ranks rank -1"
                                              : "init couple 1 nodes 2 ranks rank " + std::to_string(rank)));
      EXPECT_TRUE(text.ends_with("finalize\n")) << text;
      EXPECT_THAT(text, AllOf(Not(HasSubstr("another rank")), Not(HasSubstr("unknown"))));
      const auto events = events_in(text);
      const auto collectives = of_kind(events, kColl);
      ASSERT_EQ(collectives.size(), 2U) << text;
      EXPECT_EQ(of_kind(events, kGroup).size(), 2U);
      EXPECT_THAT(collectives[0].words,
                  HasSubstr("coll 1 AllReduce 10 ncclFloat32 root 0 ring/SIMPLE buffers"));
      EXPECT_THAT(collectives[1].words,
                  HasSubstr("coll 2 AllReduce 1000 ncclFloat32 root 0 ring/SIMPLE buffers"));
      if (version < 4) {
        EXPECT_THAT(collectives[0].words, ::testing::EndsWith("of couple"));
      }
      EXPECT_EQ(of_kind(events, kCollApi).size(), version >= 5 ? 2U : 0U);
      for (const Event& collective : collectives)
        EXPECT_EQ(events.at(collective.parent).kind, version >= 5 ? kCollApi : kGroup);
      for (const Event& step : of_kind(events, kStep)) {
        const bool sends = events.at(step.parent).words.ends_with(" send");
        EXPECT_EQ(step.states.size(), sends && version < 4 ? 2U : 3U) << step.words;
      }
      for (const Event& call : of_kind(events, kCollApi)) EXPECT_EQ(events.at(call.parent).kind, kGroupApi);
    }
    EXPECT_THAT(log(0),
                HasSubstr("PROFILER/Plugin: Using fake profiler (v" + std::to_string(version) + ") of "));
  }
}

TEST_F(Profiled, TheTagOfACallIsToldWithIt) {
  const auto texts = told(7, kAll, {}, [](ncclComm_t comm, int) {
    const auto tagged = [&](uint64_t tag, size_t count) {
      ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
      config.userProfilerTag = tag;
      std::vector<float> data(count, 1);
      expect_success(
          ncclAllReduceConfig(data.data(), data.data(), count, ncclFloat, ncclSum, comm, nullptr, &config),
          "ncclAllReduceConfig");
    };
    tagged(4711, 10);
    sum(comm, 20);
    expect_success(ncclGroupStart(), "ncclGroupStart");
    std::vector<float> first(30, 1), second(40, 1);
    ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
    config.userProfilerTag = uint64_t{1} << 63;
    expect_success(
        ncclAllReduceConfig(first.data(), first.data(), 30, ncclFloat, ncclSum, comm, nullptr, &config),
        "ncclAllReduceConfig");
    config.userProfilerTag = 7;
    expect_success(
        ncclAllReduceConfig(second.data(), second.data(), 40, ncclFloat, ncclSum, comm, nullptr, &config),
        "ncclAllReduceConfig");
    expect_success(ncclGroupEnd(), "ncclGroupEnd");
  });
  for (const std::string& text : texts) {
    const auto events = events_in(text);
    for (const int kind : {kColl, kCollApi}) {
      const auto calls = of_kind(events, kind);
      ASSERT_EQ(calls.size(), 4U) << text;
      constexpr const char* kTags[] = {"tag 4711", "tag 0", "tag 9223372036854775808", "tag 7"};
      for (size_t i = 0; i < calls.size(); ++i)
        EXPECT_THAT(calls[i].words, ::testing::EndsWith(kTags[i])) << text;
    }
  }
}

TEST_F(Profiled, MessagesAreStepsOfProxies) {
  constexpr size_t kCount = 300'000;
  for (const char* const transports : {"loop,shm", "loop,tcp"}) {
    const auto texts = told(5, kAll, {kPlans, kRing, {"WEIR_TRANSPORTS", transports}},
                            [](ncclComm_t comm, int) { sum(comm, kCount); });
    for (const std::string& text : texts) {
      const auto events = events_in(text);
      size_t sent = 0, received = 0;
      for (const Event& step : of_kind(events, kStep)) {
        const Event& proxy = events.at(step.parent);
        ASSERT_EQ(proxy.kind, kProxy) << step.words;
        EXPECT_EQ(events.at(proxy.parent).kind, kColl);
        const bool sends = proxy.words.find(" send") != std::string::npos;
        const auto as_nccl = [&] {  // which bytes are told with which state
          using States = std::vector<std::pair<int, size_t>>;
          const size_t bytes = step.states.size() == 3 ? step.states[sends ? 2 : 1].second : 0;
          return sends ? States{{8, 0}, {20, 0}, {9, bytes}} : States{{10, 0}, {11, bytes}, {12, 0}};
        };
        ASSERT_EQ(step.states, as_nccl()) << text;
        (sends ? sent : received) += step.states[sends ? 2 : 1].second;
        ASSERT_EQ(proxy.states.size(), 1U) << text;
        EXPECT_EQ(proxy.states[0].first, 19);
      }
      const size_t expected = kCount * sizeof(float);  // half of it in each of two rounds
      EXPECT_EQ(sent, expected) << transports;
      EXPECT_EQ(received, expected) << transports;
    }
  }
}

/// NCCL's example of a plugin has a table of 32 channels with 16 ends each for a collective, and does not
/// look whether they suffice.
TEST_F(Profiled, EndsOfChannelsFitTheTableOfNcclsExample) {
  constexpr int kRanks = 10;
  const auto texts = told(
      4, kAll, {kPlans, {"WEIR_TRANSPORTS", "loop,tcp"}},
      [](ncclComm_t comm, int) {
        std::vector<float> out(kRanks * 100, 1), in(kRanks * 100);
        expect_success(ncclAlltoAll(out.data(), in.data(), 100, ncclFloat, comm, nullptr), "ncclAlltoAll");
      },
      kRanks);
  for (const std::string& text : texts) {
    std::map<int, int> ends;
    const auto events = events_in(text);
    for (const Event& proxy : of_kind(events, kProxy)) {
      const size_t at = proxy.words.find("channel ");
      ASSERT_NE(at, std::string::npos) << proxy.words;
      ++ends[std::stoi(proxy.words.substr(at + 8))];
    }
    int all = 0;
    for (const auto& [channel, count] : ends) {
      EXPECT_LT(channel, 32);
      EXPECT_LE(count, 16);
      all += count;
    }
    EXPECT_GE(all, 2 * (kRanks - 1));
  }
}

TEST_F(Profiled, SendsAndReceivesOfAGroupGoTogether) {
  for (const int version : {1, 2, 3, 4, 5, 6, 7}) {
    const auto texts = told(version, kAll, {}, [](ncclComm_t comm, int rank) {
      std::vector<int> out(500, rank), in(500, -1);
      expect_success(ncclGroupStart(), "ncclGroupStart");
      expect_success(ncclSend(out.data(), out.size(), ncclInt, 1 - rank, comm, nullptr), "ncclSend");
      expect_success(ncclRecv(in.data(), in.size(), ncclInt, 1 - rank, comm, nullptr), "ncclRecv");
      expect_success(ncclGroupEnd(), "ncclGroupEnd");
      EXPECT_EQ(in, std::vector<int>(500, 1 - rank));
    });
    for (size_t rank = 0; rank < 2; ++rank) {
      const auto events = events_in(texts[rank]);
      EXPECT_EQ(of_kind(events, kGroup).size(), 1U);
      const auto pairs = of_kind(events, kP2p);
      ASSERT_EQ(pairs.size(), 2U) << texts[rank];
      const std::string peer = std::to_string(1 - rank);
      EXPECT_THAT(pairs[0].words, HasSubstr("p2p Send 500 ncclInt32 peer " + peer + " buffer"));
      EXPECT_THAT(pairs[1].words, HasSubstr("p2p Recv 500 ncclInt32 peer " + peer + " buffer"));
      for (const Event& pair : pairs) EXPECT_EQ(events.at(pair.parent).kind, version >= 5 ? kP2pApi : kGroup);
      const auto proxies = of_kind(events, kProxy);
      ASSERT_EQ(proxies.size(), 2U);
      for (const Event& proxy : proxies) {
        const bool sends = proxy.words.find(" send") != std::string::npos;
        EXPECT_THAT(events.at(proxy.parent).words, HasSubstr(sends ? "Send" : "Recv"));
      }
    }
  }
}

TEST_F(Profiled, TheExchangeHasNoMessages) {
  for (const std::string& text :
       told(5, kAll, {{"WEIR_TRANSPORTS", "loop,shm"}}, [](ncclComm_t comm, int) { sum(comm, 10); })) {
    const auto events = events_in(text);
    const auto collectives = of_kind(events, kColl);
    ASSERT_EQ(collectives.size(), 1U);
    EXPECT_THAT(collectives[0].words, HasSubstr("exchange/LL"));
    EXPECT_THAT(of_kind(events, kProxy), IsEmpty());
  }
}

TEST_F(Profiled, OnlyWhatIsWantedIsTold) {
  const auto act = [](ncclComm_t comm, int) { sum(comm, 1000); };
  for (const std::string& text : told(5, kColl, {kPlans}, act)) {
    const auto events = events_in(text);
    ASSERT_EQ(events.size(), 1U) << text;
    EXPECT_EQ(events.begin()->second.kind, kColl);
    EXPECT_EQ(events.begin()->second.parent, 0);
  }
  for (const std::string& text : told(4, 0, {kPlans}, act)) EXPECT_THAT(events_in(text), IsEmpty());
  for (const std::string& text : told(4, kStep, {kPlans}, act)) EXPECT_GT(events_in(text).size(), 0U);
}

/// Calibration sends messages of its own before the communicator is there.
TEST_F(Profiled, OnlyWhatUsersCallIsTold) {
  for (const std::string& text :
       told(5, kAll, {{"WEIR_CALIBRATION", "1"}, {"WEIR_CACHE_DIR", "/nonexistent"}}, [](ncclComm_t, int) {}))
    EXPECT_THAT(events_in(text), IsEmpty()) << text;
}

TEST_F(Profiled, WhatFailsEndsItsEvents) {
  const auto texts = told(5, kAll, {kPlans, kRing}, [](ncclComm_t comm, int rank) {
    sum(comm, 10);
    std::vector<float> data(1000, 1);
    const size_t count = rank == 0 ? 500 : 1000;
    EXPECT_NE(ncclAllReduce(data.data(), data.data(), count, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
  });
  for (const std::string& text : texts) EXPECT_EQ(of_kind(events_in(text), kColl).size(), 2U);
}

TEST_F(Profiled, APluginWithoutAContextIsNotFinalized) {
  const auto act = [](ncclComm_t comm, int) { sum(comm, 1000); };
  for (const std::string& text : told(5, kAll, {kPlans, {"FAKE_PROFILER_BARE", "1"}}, act)) {
    EXPECT_THAT(text, Not(HasSubstr("finalize")));
    EXPECT_EQ(of_kind(events_in(text), kColl).size(), 1U) << "it has its events";
  }
}

TEST_F(Profiled, APluginThatFailsDoesNoHarm) {
  const auto act = [](ncclComm_t comm, int) { sum(comm, 1000); };
  for (const std::string& text : told(5, kAll, {{"FAKE_PROFILER_INIT", "5"}}, act))
    EXPECT_THAT(text, Not(HasSubstr("finalize")));
  EXPECT_THAT(log(0),
              ContainsRegex("NCCL WARN profiler plugin fake profiler .*version 5.: init failed with result 5 "
                            ".invalid usage.; nothing is profiled"));
  for (const std::string& text : told(5, kAll, {kPlans, {"FAKE_PROFILER_DEAF", "1"}}, act))
    EXPECT_THAT(text, AllOf(Not(HasSubstr("stop")), Not(HasSubstr("state")), HasSubstr("finalize")));
  told(5, kAll, {{"NCCL_PROFILER_PLUGIN", "nobody"}}, act);
  EXPECT_THAT(log(0), HasSubstr("NCCL WARN NCCL_PROFILER_PLUGIN=nobody: could not find nobody"));
}

}  // namespace
}  // namespace weir::testing
