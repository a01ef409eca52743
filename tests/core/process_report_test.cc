// SPDX-License-Identifier: Apache-2.0
// What a process says of its communicators, while they work, wait, fail and rest.
#include "src/core/diagnosis/process_report.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "src/core/diagnosis/dumper.h"
#include "tests/core/logged.h"
#include "tests/core/rank.h"

namespace weir::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kReportedRanks = 3;

Options quiet_options(const std::string& transports = "") {
  Options options;
  if (!transports.empty()) options.transports = transports;
  options.calibration = false;
  return options;
}

/// Ranks of one process, a thread each, and what `act` does there once they have met.
void with_ranks(Runtime& runtime, const std::function<void(Communicator&)>& act) {
  const auto id = runtime.make_unique_id();
  ASSERT_TRUE(id.ok());
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < kReportedRanks; ++rank) {
    threads.emplace_back([&, rank] {
      Config config;
      config.name = "layers";
      Communicator communicator(runtime, IdOrigin{*id, kReportedRanks, rank}, config);
      const Status met = communicator.connect();
      ASSERT_TRUE(met.ok()) << met.message();
      act(communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Status sum(Communicator& communicator, std::vector<float>& values) {
  const Operation operation =
      CollectiveOp{.input = values.data(), .output = values.data(), .count = values.size()};
  return communicator.run({&operation, 1});
}

CommunicatorReport report_of_rank(const Runtime& runtime, Rank rank) {
  for (CommunicatorReport& one : report_of(runtime.activities(), runtime.host()).communicators) {
    if (one.rank == rank) return std::move(one);
  }
  return {};
}

/// Looks at the report of a rank until `fits`; false: it never did.
bool comes_to(const Runtime& runtime, Rank rank, const std::function<bool(const CommunicatorReport&)>& fits) {
  const Deadline deadline = Deadline::in_ms(20'000);
  while (!deadline.over()) {
    if (fits(report_of_rank(runtime, rank))) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

TEST(ProcessReport, CountsAndRemembersOperations) {
  Runtime runtime(quiet_options());
  std::atomic<int> done{0};
  with_ranks(runtime, [&](Communicator& communicator) {
    std::vector<float> few(2), many(64 << 10);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(sum(communicator, few).ok());
    ASSERT_TRUE(sum(communicator, many).ok());
    const CommunicatorReport report = report_of_rank(runtime, communicator.rank());
    EXPECT_EQ(report.name, "layers");
    EXPECT_EQ(report.ranks, kReportedRanks);
    EXPECT_EQ(report.device, "host memory");
    EXPECT_EQ(report.state, RankState::idle);
    EXPECT_EQ(report.calls, 6u);
    const Recorder::Count& count = report.counts[static_cast<size_t>(Collective::all_reduce)];
    EXPECT_EQ(count.begun, 6u) << "what was measured before is nobody's";
    EXPECT_EQ(count.ended, 6u);
    EXPECT_EQ(count.bytes, 5 * 8 + (256u << 10));
    ASSERT_THAT(report.recent, SizeIs(6));
    EXPECT_TRUE(report.recent.front().exact) << "the first one has a time";
    EXPECT_GE(report.recent[3].begun_ns, report.recent[0].begun_ns);
    ASSERT_TRUE(report.last);
    EXPECT_TRUE(report.last->exact);
    EXPECT_TRUE(report.last->ended);
    EXPECT_GT(report.last->took_ns, 0);
    EXPECT_EQ(report.last->operation.count, 64u << 10);
    EXPECT_FALSE(report.last->plan.empty());
    size_t members = 0;
    for (const CommunicatorReport& one : report_of(runtime.activities(), 0).communicators)
      members += one.members.size();
    EXPECT_EQ(members, size_t{kReportedRanks}) << "they are told once";
    ++done;
    while (done < kReportedRanks) std::this_thread::yield();
  });
  EXPECT_THAT(report_of(runtime.activities(), 0).communicators, SizeIs(0)) << "those that ended are gone";
}

TEST(ProcessReport, SaysWhoWaitsForWhom) {
  Runtime runtime(quiet_options());
  std::atomic<bool> looked{false};
  with_ranks(runtime, [&](Communicator& communicator) {
    std::vector<float> values(2);
    ASSERT_TRUE(sum(communicator, values).ok());
    if (communicator.rank() == 1) {
      EXPECT_TRUE(comes_to(runtime, 0, [](const CommunicatorReport& report) {
        return report.state == RankState::waiting && report.waiting_for.front() == 1;
      }));
      const CommunicatorReport waiting = report_of_rank(runtime, 0);
      EXPECT_EQ(waiting.calls, 2u);
      ASSERT_TRUE(waiting.last);
      EXPECT_FALSE(waiting.last->ended);
      EXPECT_TRUE(waiting.last->exact) << "who waits knows since when";
      EXPECT_GT(waiting.last->took_ns, 0);
      EXPECT_EQ(waiting.counts[static_cast<size_t>(Collective::all_reduce)].ended, 1u);
      EXPECT_EQ(report_of_rank(runtime, 1).state, RankState::idle);
      looked = true;
    }
    ASSERT_TRUE(sum(communicator, values).ok());
  });
  EXPECT_TRUE(looked);
}

TEST(ProcessReport, CountsWhatChannelsCarry) {
  Runtime runtime(quiet_options("tcp"));
  std::atomic<int> done{0};
  with_ranks(runtime, [&](Communicator& communicator) {
    std::vector<float> values(3 << 10);
    const auto carried = [&] {
      uint64_t sent = 0, received = 0;
      for (const ChannelReport& channel : report_of_rank(runtime, communicator.rank()).channels) {
        EXPECT_EQ(channel.transport, "tcp");
        if (channel.peer == communicator.rank()) continue;  // between its own lanes
        (channel.sends ? sent : received) += channel.bytes;
      }
      return std::pair(sent, received);
    };
    const auto before = carried();
    ASSERT_TRUE(sum(communicator, values).ok());
    const auto after = carried();
    EXPECT_GE(after.first, before.first + 4 * values.size()) << "a rank sends its values at least once";
    EXPECT_GE(after.second, before.second + 4 * values.size());
    const CommunicatorReport report = report_of_rank(runtime, communicator.rank());
    EXPECT_NE(report.last->plan, "exchange");
    EXPECT_TRUE(report.last->exact) << "operations with a plan are timed";
    ++done;
    while (done < kReportedRanks) std::this_thread::yield();
  });
}

/// Reports are made all the time meanwhile, by another thread.
TEST(ProcessReport, MeasuresLinksOfTcp) {
  Runtime runtime(quiet_options("tcp"));
  std::atomic<bool> measured{false}, over{false};
  std::thread reader([&] {
    while (!over && !measured) {  // while a report is made, no link is looked at
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      measured = !report_of_rank(runtime, 0).links.empty();
    }
  });
  with_ranks(runtime, [&](Communicator& communicator) {
    std::vector<float> values(1 << 18);
    do {  // until rank 0 says so to all
      values.assign(values.size(), 0);
      if (communicator.rank() == 0 && measured) values[0] = 1;
      ASSERT_TRUE(sum(communicator, values).ok());
    } while (values[0] == 0);
    over = true;
    if (communicator.rank() != 0) return;
    const CommunicatorReport report = report_of_rank(runtime, 0);
    ASSERT_FALSE(report.links.empty());
    const LinkSpeed& link = report.links.front();
    EXPECT_EQ(link.transport, "tcp");
    EXPECT_NE(link.peer, 0);
    EXPECT_GT(link.bytes_per_s, 1e6);
    EXPECT_GE(link.calls, 64U) << "eight looks, each after eight calls at least";
    ProcessReport whole;
    whole.communicators = {report};
    whole.communicators[0].bad_values = 12;
    const auto read = read_report(to_json(whole));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->communicators[0].bad_values, 12U);
    ASSERT_THAT(read->communicators[0].links, SizeIs(report.links.size()));
    EXPECT_EQ(describe(read->communicators[0].links[0], 0), describe(link, 0));
    EXPECT_EQ(read->communicators[0].links[0].slow, link.slow);
  });
  reader.join();
}

TEST(ProcessReport, SaysWhyACommunicatorFailed) {
  Runtime runtime(quiet_options());
  std::atomic<int> done{0};
  with_ranks(runtime, [&](Communicator& communicator) {
    std::vector<float> values(communicator.rank() == 2 ? 4 : 2);
    EXPECT_FALSE(sum(communicator, values).ok()) << "another count";
    EXPECT_TRUE(comes_to(runtime, communicator.rank(), [](const CommunicatorReport& report) {
      return report.state == RankState::failed && !report.sentence.empty();
    }));
    ++done;
    while (done < kReportedRanks) std::this_thread::yield();
  });
}

TEST(ProcessReport, NothingIsRecordedWhereThatIsOff) {
  Options options = quiet_options("tcp");
  options.recorded = 0;
  Runtime runtime(options);
  with_ranks(runtime, [&](Communicator& communicator) {
    std::vector<float> values(2);
    ASSERT_TRUE(sum(communicator, values).ok());
    const CommunicatorReport report = report_of_rank(runtime, communicator.rank());
    EXPECT_EQ(report.calls, 1u);
    EXPECT_FALSE(report.last);
    EXPECT_THAT(report.channels, SizeIs(0));
  });
}

TEST(ProcessReport, IsJsonAndAnswersAtTheListener) {
  Runtime runtime(quiet_options());
  std::atomic<int> done{0};
  with_ranks(runtime, [&](Communicator& communicator) {
    std::vector<float> values(2);
    ASSERT_TRUE(sum(communicator, values).ok());
    const PeerAddress self = report_of_rank(runtime, 0).members.front();
    const ReportSource source{self.listener, runtime.report_access().front()};
    const Answer answer =
        ask_for_reports({&source, 1}, report_question({.recent = 1}), Deadline::in_ms(20'000)).front();
    ASSERT_EQ(answer.kind, Answer::Kind::given);
    const std::string text = testing::to_text(answer.bytes);
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["format"], "weir report 1");
    ASSERT_EQ(json["communicators"].size(), size_t{kReportedRanks});
    for (const auto& one : json["communicators"]) {
      EXPECT_EQ(one["id"], json["communicators"][0]["id"]);
      EXPECT_EQ(one["members"].size(), &one == &json["communicators"][0] ? size_t{kReportedRanks} : 0);
    }
    EXPECT_THAT(text, HasSubstr("\"operation\":\"all_reduce\""));
    ++done;
    while (done < kReportedRanks) std::this_thread::yield();
  });
}

TEST(ProcessReport, AWrongOptionForItsReadersIsRefused) {
  Options options = quiet_options();
  options.reports = "root";
  Runtime runtime(options);
  const Status status = runtime.listener(SocketAddress::loopback(AF_INET, 0)).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("WEIR_REPORTS is \"root\"; expected off, user or all"));
}

/// Readers of other versions know operations by these words.
TEST(ProcessReport, OperationsOfEveryKindComeBackFromJson) {
  using Call = OperationSummary::Call;
  const std::pair<OperationSummary, const char*> kTold[] = {
      {{.collective = Collective::reduce,
        .type = DataType::bfloat16,
        .op = RedOp::max,
        .rank = 5,
        .count = 3},
       R"("operation":"reduce","count":3,"type":"bfloat16","bytes":6,"op":"max","root":5,)"},
      {{.call = Call::send, .type = DataType::int8, .rank = 2, .count = 7},
       R"("operation":"send","count":7,"type":"int8","bytes":7,"peer":2,)"},
      {{.call = Call::receive, .rank = 2, .count = 7},
       R"("operation":"recv","count":7,"type":"float32","bytes":28,"peer":2,)"},
      {{.call = Call::put, .rank = 1, .count = 7},
       R"("operation":"put","count":7,"type":"float32","bytes":28,"peer":1,)"},
      {{.call = Call::signal, .rank = 1},
       R"("operation":"signal","count":0,"type":"float32","bytes":0,"peer":1,)"},
      {{.call = Call::wait, .rank = 4},
       R"("operation":"wait_signal","count":0,"type":"float32","bytes":0,"peer":4,)"}};
  for (const auto& [operation, words] : kTold) {
    ProcessReport report;
    report.communicators.emplace_back().last.emplace().operation = operation;
    const std::string json = to_json(report);
    EXPECT_THAT(json, HasSubstr(words));
    const auto read = read_report(json);
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_TRUE(read->communicators[0].last);
    EXPECT_EQ(pack(read->communicators[0].last->operation), pack(operation));
    EXPECT_EQ(read->communicators[0].last->operation.count, operation.count);
  }
}

/// A process may have a thousand ranks, each with all that it remembers.
TEST(ProcessReport, AnswersHaveSoManyOperationsAtMost) {
  ActivityRegistry activities(4096);
  for (Rank rank = 0; rank < 4; ++rank) {
    const auto activity = activities.enter(7, rank);
    for (uint64_t i = 1; i <= 4096; ++i) {
      activity->begin(i, 0, {});
      activity->end();
    }
  }
  EXPECT_THAT(report_of(activities, 0, {.recent = SIZE_MAX}).communicators.back().recent, SizeIs(4096));
  const auto told = read_report(
      testing::to_text(answer_report_question(activities, 0, report_question({.recent = SIZE_MAX}))));
  ASSERT_TRUE(told.ok());
  ASSERT_THAT(told->communicators, SizeIs(4));
  for (const CommunicatorReport& one : told->communicators) {
    ASSERT_THAT(one.recent, SizeIs(2048));
    EXPECT_EQ(one.recent.back().number, 4096u);
  }
}

TEST(ProcessReport, TextsOfOthersAreReadWithoutControlCharacters) {
  ProcessReport evil;
  evil.hostname = "alpha\r\nrank 0 is dead";
  evil.program = "\x1b]0;owned\x07\x1b[2J";
  evil.communicators.emplace_back().sentence =
      "\xc2\x9b"
      "31m";
  evil.communicators.back().id = std::string(100'000, 'a');
  const auto read = read_report(to_json(evil));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->program, "\\x1b]0;owned\\x07\\x1b[2J");
  EXPECT_EQ(read->hostname, "alpha\\x0d\\x0arank 0 is dead");
  EXPECT_EQ(read->communicators[0].sentence, "\\xc2\\x9b31m");
  EXPECT_LE(read->communicators[0].id.size(), 4096u);
}

/// A name would be looked up, which takes seconds and tells its owner who asks.
TEST(ProcessReport, OneThatIsNestedDeeplyIsNone) {
  const Status refused = read_report(std::string(1'000'000, '[')).status();
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_EQ(refused.message(), "1000000 bytes that are no report of weir");
}

TEST(ProcessReport, NamesOfHostsAreNoAddresses) {
  ProcessReport report;
  report.communicators.emplace_back().members.push_back(
      {.listener = SocketAddress::loopback(AF_INET, 80), .hostname = "alpha"});
  std::string json = to_json(report);
  ASSERT_TRUE(read_report(json).ok());
  const std::string address = "127.0.0.1:80";
  json.replace(json.find(address), address.size(), "localhost:80");
  EXPECT_FALSE(read_report(json).ok());
}

TEST(ProcessReport, AShortQuestionIsNotAnswered) {
  const ActivityRegistry activities;
  const Bytes question = report_question({});
  EXPECT_TRUE(is_report_question(question));
  EXPECT_EQ(profiler_mask_of(question), std::nullopt);
  EXPECT_EQ(profiler_mask_of(report_question({.profiler_mask = 6})), 6);
  EXPECT_TRUE(answer_report_question(activities, 0, BytesView(question).first(3)).empty());
}

/// Not when the report is wanted, which would be late.
TEST(Dumper, WarnsAtOnceOfAFileThatCannotBeWritten) {
  const ActivityRegistry activities;
  const Logged logged;
  Options options;
  options.dump_file = "/no/such/folder/report-%p.json";
  const Dumper dumper(options, activities, 1);
  EXPECT_THAT(logged.text(),
              HasSubstr(fmt::format("WEIR_DUMP_FILE: /no/such/folder/report-{}.json", getpid())));
  EXPECT_THAT(logged.text(), HasSubstr("cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace weir::core
