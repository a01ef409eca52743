// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/watchdog.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "src/base/error_log.h"
#include "src/base/log.h"
#include "src/base/process_state.h"
#include "src/core/call/signature.h"
#include "tests/core/processes.h"
#include "tests/core/rank.h"
#include "tests/core/status_words.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using testing::Event;
using ::testing::HasSubstr;
using testing::kQuick;
using testing::names;
using testing::Processes;
using testing::Site;
using ::testing::StartsWith;
using testing::words;

OperationSummary all_reduce(size_t count) { return {.count = count}; }

/// Waits for `peer`, who never does anything, until there is an error or `ms` have passed.
Status wait_in_vain(Bootstrap& bootstrap, Rank peer, int64_t ms) {
  const int64_t start = now_ns();
  while (now_ns() - start < ms * 1'000'000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    WEIR_TRY(bootstrap.watchdog().examine(peer, now_ns() - start));
  }
  return {};
}

/// Processes that have joined one communicator; then each runs `then`, and says what it returns.
class Joined {
 public:
  using Then = std::function<Status(Bootstrap&, const Processes::Voice&)>;

  Joined(int ranks, const Timeouts& timeouts, const Then& then)
      : root_(timeouts), processes_(ranks, [&](int rank, const Processes::Voice& voice) {
          Site site(timeouts);
          auto joined = Bootstrap::join(site.spec(root_.id(), ranks, rank));
          voice.say(words(joined.status()));
          if (joined.ok()) voice.say(words(then(**joined, voice)));
        }) {
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(processes_.line(rank), "ok");
  }
  Processes* operator->() { return &processes_; }

 private:
  testing::RootProcess root_;
  Processes processes_;
};

Status gather_for_ever(Bootstrap& bootstrap, const Processes::Voice&) {
  for (;;) WEIR_TRY(bootstrap.barrier());
}

TEST(Watchdog, AKilledRankIsNamedOnAllOthers) {
  Joined ranks(6, kQuick, gather_for_ever);
  ranks->signal(2, SIGKILL);
  for (const int rank : {0, 1, 3, 4, 5}) {
    EXPECT_THAT(ranks->line(rank),
                AllOf(StartsWith("6: "), names(*ranks.operator->(), 2), HasSubstr("is dead")));
  }
}

TEST(Watchdog, AStoppedRankIsNamedOnAllOthers) {
  Joined ranks(6, kQuick, gather_for_ever);
  ranks->signal(4, SIGSTOP);
  for (const int rank : {0, 1, 2, 3, 5}) {
    EXPECT_THAT(ranks->line(rank),
                AllOf(StartsWith("6: "), names(*ranks.operator->(), 4), HasSubstr("is stopped")));
  }
}

/// Takes real time: a rank is asked several times while it is stopped, and long before it counts as lost.
TEST(Watchdog, AShortStopIsForgiven) {
  Joined ranks(3, Timeouts{}, [](Bootstrap& bootstrap, const Processes::Voice& voice) -> Status {
    for (int i = 0; i < 20; ++i) {
      WEIR_TRY(bootstrap.barrier());
      if (i == 10 && bootstrap.rank() == 1) {
        voice.say("stops");
        raise(SIGSTOP);
      }
    }
    return {};
  });
  EXPECT_EQ(ranks->line(1), "stops");
  while (!is_stopped(process_state(ranks->pid(1)))) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  ranks->signal(1, SIGCONT);
  for (const int rank : {0, 1, 2}) EXPECT_EQ(ranks->line(rank), "ok");
}

TEST(Watchdog, TheChainLeadsToTheCulprit) {
  Joined ranks(4, kQuick, [](Bootstrap& bootstrap, const Processes::Voice& voice) {
    bootstrap.activity().begin(7, 0xabc, all_reduce(1024));
    if (bootstrap.rank() < 3) return wait_in_vain(bootstrap, bootstrap.rank() + 1, 20'000);
    voice.say("dying");
    raise(SIGKILL);
    return Status();
  });
  EXPECT_EQ(ranks->line(3), "dying");
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(ranks->line(rank),
                AllOf(StartsWith("6: "), names(*ranks.operator->(), 3), HasSubstr("is dead"),
                      HasSubstr("ncclAllReduce(count 1024, float32, sum) as call 7")));
  }
}

TEST(Watchdog, RanksOutsideOfACallAreToldToo) {
  Joined ranks(4, kQuick, [](Bootstrap& bootstrap, const Processes::Voice&) {
    if (bootstrap.rank() == 0) {
      bootstrap.activity().begin(1, 0xabc, all_reduce(8));
      return wait_in_vain(bootstrap, 3, 20'000);
    }
    while (!bootstrap.activity().failed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return bootstrap.activity().status();
  });
  ranks->signal(3, SIGKILL);
  const std::string said = ranks->line(0);
  EXPECT_THAT(said, names(*ranks.operator->(), 3));
  EXPECT_EQ(ranks->line(1), said);
  EXPECT_EQ(ranks->line(2), said);
}

TEST(Watchdog, CallsThatDoNotMatchAreBothNamed) {
  Joined ranks(2, kQuick, [](Bootstrap& bootstrap, const Processes::Voice&) {
    CollectiveOp operation{.count = 100};
    if (bootstrap.rank() == 1) operation.kind = Collective::broadcast;
    bootstrap.activity().begin(3, signature(operation), summary_of(operation));
    return wait_in_vain(bootstrap, 1 - bootstrap.rank(), 20'000);
  });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(ranks->line(rank),
                AllOf(StartsWith("5: "), HasSubstr("call 3"), HasSubstr("ncclAllReduce(count 100"),
                      HasSubstr("ncclBroadcast(count 100"), names(*ranks.operator->(), 0),
                      names(*ranks.operator->(), 1)));
  }
}

TEST(Watchdog, AMismatchIsFoundAfterThePeerHasGoneOn) {
  Joined ranks(2, kQuick, [](Bootstrap& bootstrap, const Processes::Voice&) {
    CollectiveOp operation{.count = 100};
    if (bootstrap.rank() == 0) {
      bootstrap.activity().begin(1, signature(operation), summary_of(operation));
      return wait_in_vain(bootstrap, 1, 20'000);
    }
    for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
      operation.count = 200 + sequence;
      bootstrap.activity().begin(sequence, signature(operation), summary_of(operation));
      bootstrap.activity().end();
    }
    while (!bootstrap.activity().failed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return bootstrap.activity().status();
  });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(ranks->line(rank), AllOf(StartsWith("5: "), HasSubstr("call 1"), HasSubstr("count 100"),
                                         HasSubstr("count 201")));
  }
}

/// Takes real time: the slow one is asked several times.
TEST(Watchdog, ASlowCallerIsNoError) {
  const Event waited;
  Joined ranks(2, kQuick, [&](Bootstrap& bootstrap, const Processes::Voice&) -> Status {
    if (bootstrap.rank() == 1) {
      waited.wait();
      return bootstrap.activity().status();
    }
    bootstrap.activity().begin(1, 0xabc, all_reduce(8));
    return wait_in_vain(bootstrap, 1, 1200);
  });
  EXPECT_EQ(ranks->line(0), "ok");
  waited.happen();
  EXPECT_EQ(ranks->line(1), "ok");
}

TEST(Watchdog, ASlowCallerIsGivenUpIfTheUserWantsThat) {
  Timeouts timeouts = kQuick;
  timeouts.stuck_ms = 1000;
  Joined ranks(3, timeouts, [](Bootstrap& bootstrap, const Processes::Voice&) -> Status {
    if (bootstrap.rank() == 2) {
      while (!bootstrap.activity().failed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return bootstrap.activity().status();
    }
    bootstrap.activity().begin(1, 0xabc, all_reduce(8));
    return wait_in_vain(bootstrap, bootstrap.rank() + 1, 20'000);
  });
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(ranks->line(rank), AllOf(StartsWith("6: "), names(*ranks.operator->(), 2),
                                         HasSubstr("is in no call"), HasSubstr("WEIR_STUCK_TIMEOUT")));
  }
}

/// Ranks that wait in a ring.
class WaitRing : public Joined {
 public:
  WaitRing(int64_t deadlock_ms, int64_t wait_ms)
      : Joined(3, {.peer_ms = kQuick.peer_ms, .deadlock_ms = deadlock_ms},
               [wait_ms](Bootstrap& bootstrap, const Processes::Voice& voice) -> Status {
                 bootstrap.activity().begin(1, 0, all_reduce(8));
                 voice.say(words(wait_in_vain(bootstrap, (bootstrap.rank() + 1) % 3, wait_ms)));
                 for (;;) pause();  // nobody leaves while others still wait
               }) {}
};

TEST(Watchdog, RanksThatWaitForEachOtherAreGivenUpInTheEnd) {
  WaitRing patient(0, 1500), impatient(1000, 20'000);
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(patient->line(rank), "ok");
    EXPECT_THAT(impatient->line(rank), HasSubstr("the wait timed out (WEIR_DEADLOCK_TIMEOUT)"));
  }
}

/// Lanes that wait for several ranks at once.
class Lanes final : public exec::Task {
 public:
  explicit Lanes(std::vector<Rank> ranks) : ranks_(std::move(ranks)) {}
  exec::Progress advance() override { return exec::Progress::blocked; }
  Status serve(Rank&) override { return {}; }
  Status error() const override { return {}; }
  Rank waiting_for() const override { return ranks_.front(); }
  std::vector<Rank> awaited() const override { return ranks_; }

 private:
  const std::vector<Rank> ranks_;
};

/// Ranks 0 and 1 wait for each other in one lane, and for rank 2 in the next one, which does `odd`.
class OddOne {
 public:
  OddOne(const Timeouts& timeouts, const std::function<void()>& odd)
      : ranks_(3, timeouts, [&](Bootstrap& bootstrap, const Processes::Voice&) -> Status {
          if (bootstrap.rank() == 2) odd();
          const Lanes lanes({1 - bootstrap.rank(), 2});
          bootstrap.activity().begin(1, 0xabc, all_reduce(8));
          const int64_t start = now_ns();
          Status status;
          while (status.ok() && now_ns() - start < 20'000'000'000) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            status = bootstrap.watchdog().examine(lanes.waiting_for(), now_ns() - start, false, &lanes);
          }
          return status;
        }) {}
  void expect_named() {
    for (const int rank : {0, 1})
      EXPECT_THAT(ranks_->line(rank), AllOf(StartsWith("6: "), names(*ranks_.operator->(), 2)));
  }

 private:
  Joined ranks_;
};

TEST(Watchdog, LanesThatWaitForEachOtherDoNotHideWhoHoldsThemUp) {
  Timeouts timeouts = kQuick;
  timeouts.stuck_ms = 1000;
  OddOne dead(kQuick, [] { raise(SIGKILL); });
  OddOne stopped(kQuick, [] { raise(SIGSTOP); });
  OddOne stuck(timeouts, [] { pause(); });
  for (OddOne* one : {&dead, &stopped, &stuck}) one->expect_named();
}

TEST(Watchdog, WhoRunsOutOfMemoryIsNamed) {
  Joined ranks(3, kQuick, [](Bootstrap& bootstrap, const Processes::Voice&) -> Status {
    bootstrap.activity().begin(1, 0xabc, all_reduce(8));
    if (bootstrap.rank() != 1) return wait_in_vain(bootstrap, 1, 20'000);
    return bootstrap.watchdog().exhausted();
  });
  EXPECT_THAT(ranks->line(1), AllOf(StartsWith("2: "), HasSubstr("has no memory left")));
  for (const int rank : {0, 2}) {
    EXPECT_THAT(ranks->line(rank),
                AllOf(StartsWith("6: "), names(*ranks.operator->(), 1), HasSubstr("has no memory left")));
  }
}

TEST(Watchdog, ARankThatLeftIsNamed) {
  Joined ranks(2, kQuick, [](Bootstrap& bootstrap, const Processes::Voice& voice) -> Status {
    bootstrap.activity().begin(1, 0xabc, all_reduce(8));
    if (bootstrap.rank() == 0) return wait_in_vain(bootstrap, 1, 20'000);
    voice.say("leaving");
    return {};
  });
  EXPECT_EQ(ranks->line(1), "leaving");
  EXPECT_THAT(ranks->line(0), AllOf(StartsWith("6: "), names(*ranks.operator->(), 1)));
}

/// Rank 0, which waits until a channel to rank 1 opens; both are of this process.
class Opening : public ::testing::Test {
 protected:
  static constexpr Timeouts kTimes{.init_ms = 0, .peer_ms = 100, .stuck_ms = 0, .open_ms = 100};

  Opening() {
    Watchdog::Spec spec;
    spec.uid = 7;
    spec.rank = 0;
    const auto listener = SocketAddress::loopback(AF_INET, 4711);
    spec.peers = std::make_shared<const std::vector<PeerAddress>>(
        std::vector<PeerAddress>{{listener, 1, 1, "here"}, {listener, 1, 2, "here"}});
    spec.activities = &activities_;
    spec.activity = own_;
    spec.timeouts = kTimes;
    watchdog_ = std::make_unique<Watchdog>(std::move(spec));
  }
  static OperationSummary receive() { return {.call = OperationSummary::Call::receive}; }
  static constexpr int64_t kInTimeMs = 3 * kTimes.open_ms;
  static constexpr int64_t kEventuallyMs =
      300 * kTimes.open_ms;  // time that a busy machine takes starts anew

  /// What examining says, within so many milliseconds; the seconds it took are in took_. The other rank waits
  /// for this one meanwhile, or does not.
  Status examine(int64_t ms, bool other_waits, bool opening = true) {
    const int64_t start = now_ns();
    Status said;
    while (said.ok() && now_ns() - start < ms * 1'000'000) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (other_waits) other_->wait_for(std::array<Rank, 1>{0});
      waited_ns_ += 1'000'000;
      said = watchdog_->examine(1, waited_ns_, opening);
    }
    took_ = static_cast<double>(now_ns() - start) * 1e-9;
    return said;
  }

  ActivityRegistry activities_;
  std::shared_ptr<Activity> own_ = activities_.enter(7, 0), other_ = activities_.enter(7, 1);
  std::unique_ptr<Watchdog> watchdog_;
  int64_t waited_ns_ = 0;
  double took_ = 0;
};

TEST_F(Opening, EndsWhereBothRanksHaveCalled) {
  own_->begin(3, 0xabc, all_reduce(8));
  other_->begin(3, 0xabc, all_reduce(8));
  EXPECT_THAT(
      words(examine(kEventuallyMs, true)),
      AllOf(StartsWith("6: rank 1 (pid 2 on host here) answers and has made the same call"),
            HasSubstr("address 127.0.0.1:4711"), ContainsRegex("has not opened for (0\\.[1-9]|[1-9])"),
            HasSubstr("WEIR_INIT_TIMEOUT"), HasSubstr("as call 3 of the communicator")));
  EXPECT_GE(took_, 0.1);
  EXPECT_TRUE(other_->failed());
}

TEST_F(Opening, EndsWhereTheOtherRankHasGoneOn) {
  own_->begin(3, 0xabc, all_reduce(8));
  other_->begin(3, 0xabc, all_reduce(8));
  other_->begin(4, 0xabc, all_reduce(8));
  other_->end();
  EXPECT_THAT(words(examine(kEventuallyMs, false)), HasSubstr("has made the same call"));
}

TEST_F(Opening, TakesAsLongAsTheOtherRankDoesNotCall) {
  own_->begin(3, 0xabc, all_reduce(8));
  EXPECT_EQ(words(examine(kInTimeMs, false)), "ok") << "in no call yet";
  other_->begin(2, 0xabc, all_reduce(8));
  EXPECT_EQ(words(examine(kInTimeMs, true)), "ok") << "in the call before";
  other_->end();
  other_->begin(3, 0xabc, all_reduce(8));
  EXPECT_EQ(words(examine(kInTimeMs, false)), "ok") << "in it, but it plans, and has not begun to open";
  EXPECT_THAT(words(examine(kEventuallyMs, true)), HasSubstr("has not opened"));
  EXPECT_GE(took_, 0.1) << "from when it had called";
}

TEST_F(Opening, IsNotWhatRanksWaitForLater) {
  own_->begin(3, 0xabc, all_reduce(8));
  other_->begin(3, 0xabc, all_reduce(8));
  EXPECT_EQ(words(examine(kInTimeMs, true, false)), "ok");
}

TEST_F(Opening, OfSendsAndReceivesIsAWarningOnce) {
  own_->begin(3, 0, receive());
  other_->begin(3, 0, receive());
  const std::string_view sentence = "waits for this rank, but a channel between";
  for (int look = 0; look < 30 && std::string_view(last_error()).find(sentence) == sentence.npos; ++look)
    EXPECT_EQ(words(examine(kInTimeMs, true)), "ok");
  EXPECT_THAT(last_error(), HasSubstr(sentence));
  log_error("something else");
  EXPECT_EQ(words(examine(kInTimeMs, true)), "ok");
  EXPECT_STREQ(last_error(), "something else");
}

TEST(Watchdog, ThreadsOfOneProcessAreExaminedWithoutAListener) {
  Site site(kQuick);
  const UniqueId id = *site.roots.make_id(SocketAddress::loopback(AF_INET, 0), kQuick);
  std::array<Status, 2> said;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      auto joined = Bootstrap::join(site.spec(id, 2, rank));
      if (!joined.ok()) return;
      Bootstrap& bootstrap = **joined;
      if (rank == 1) return;  // destroys the communicator
      bootstrap.activity().begin(1, 0xabc, all_reduce(8));
      said[0] = wait_in_vain(bootstrap, 1, 20'000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(said[0].code(), Code::remote_error);
  EXPECT_THAT(said[0].message(), HasSubstr("has destroyed or aborted this communicator"));
}

TEST(Watchdog, ABrokenConnectionIsExplained) {
  Joined ranks(3, kQuick, [](Bootstrap& bootstrap, const Processes::Voice&) -> Status {
    if (bootstrap.rank() == 2) raise(SIGKILL);
    bootstrap.activity().begin(1, 0xabc, all_reduce(8));
    if (bootstrap.rank() == 1) {  // whose connection breaks because rank 0 has given up
      while (!bootstrap.activity().failed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return bootstrap.watchdog().explain(bootstrap.rank() == 0 ? 2 : 0,
                                        Status(Code::remote_error, "connection reset"));
  });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(ranks->line(rank),
                AllOf(StartsWith("6: "), names(*ranks.operator->(), 2), HasSubstr("is dead")));
  }
}

TEST(Watchdog, SomethingThatDoesNotFitIsSaidAsItIs) {
  Joined ranks(2, kQuick, [](Bootstrap& bootstrap, const Processes::Voice&) -> Status {
    bootstrap.activity().begin(1, 0, all_reduce(8));
    if (bootstrap.rank() == 0)
      return bootstrap.watchdog().explain(1, Status(Code::invalid_usage, "too long"));
    while (!bootstrap.activity().failed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return bootstrap.activity().status();
  });
  EXPECT_EQ(ranks->line(0), "5: too long");
  EXPECT_EQ(ranks->line(1), "5: too long");
}

TEST(Watchdog, TheFirstFailureStays) {
  Activity activity;
  EXPECT_EQ(words(activity.status()), "ok");
  activity.fail({3, Status(Code::remote_error, "first")});
  activity.fail({4, Status(Code::invalid_usage, "second")});
  EXPECT_EQ(words(activity.status()), "6: first");
  EXPECT_EQ(activity.snapshot(0).failure->culprit, 3);
}

TEST(ActivityRegistry, AnswersWhatRanksDo) {
  ActivityRegistry activities;
  const auto ask = [&](Rank rank, uint64_t sequence) {
    return *ActivityRegistry::read_report(activities.answer(9, ActivityRegistry::question(rank, sequence)));
  };
  EXPECT_EQ(ask(1, 0).presence, ActivityReport::Presence::not_yet);
  const auto activity = activities.enter(9, 1);
  EXPECT_EQ(ask(1, 0).presence, ActivityReport::Presence::here);
  EXPECT_EQ(ask(1, 0).snapshot.state, Snapshot::State::outside);

  const OperationSummary operation{.collective = Collective::reduce,
                                   .type = DataType::bfloat16,
                                   .op = RedOp::max,
                                   .rank = 5,
                                   .count = size_t{1} << 40};
  activity->begin(17, 0xdeadbeef, operation);
  ActivityReport report;
  for (report.snapshot.waiting_for = -1;
       report.snapshot.waiting_for < 0;) {  // a busy machine may ask too late
    activity->wait_for(std::array<Rank, 3>{3, 6, 4});
    report = ask(1, 17);
  }
  EXPECT_EQ(report.snapshot.state, Snapshot::State::inside);
  EXPECT_EQ(report.snapshot.sequence, 17u);
  EXPECT_EQ(report.snapshot.waiting_for, 3);
  EXPECT_THAT(report.snapshot.also, ElementsAre(6, 4));
  ASSERT_TRUE(report.snapshot.call.has_value());
  EXPECT_EQ(report.snapshot.call->signature, 0xdeadbeefu);
  EXPECT_EQ(describe(report.snapshot.call->operation), describe(operation));
  EXPECT_FALSE(ask(1, 16).snapshot.call.has_value());

  const Deadline soon = Deadline::in_ms(20'000);
  while (ask(1, 17).snapshot.waiting_for != -1 && !soon.over()) std::this_thread::yield();
  EXPECT_FALSE(soon.over()) << "has not looked for long: it works";
  activity->end();
  EXPECT_EQ(ask(1, 17).snapshot.state, Snapshot::State::outside);

  activities.answer(9, ActivityRegistry::notice({2, Status(Code::remote_error, "why")}));
  EXPECT_EQ(ask(1, 17).snapshot.failure->status.message(), "why");
  activities.leave(9, 1);
  EXPECT_EQ(ask(1, 0).presence, ActivityReport::Presence::left);
  EXPECT_EQ(ask(1, 0).snapshot.failure->culprit, 2);
  EXPECT_EQ(ask(2, 0).presence, ActivityReport::Presence::not_yet);
}

TEST(ActivityRegistry, NonsenseIsNoQuestionAndNoAnswer) {
  ActivityRegistry activities;
  const auto activity = activities.enter(9, 1);
  activity->begin(1, 1, all_reduce(1));
  const Bytes question = ActivityRegistry::question(1, 1);
  const Bytes good = activities.answer(9, question);
  for (size_t size = 0; size < question.size(); ++size) activities.answer(9, BytesView(question).first(size));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ActivityRegistry::read_report(BytesView(good).first(size)).has_value()) << size;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] = std::byte{0xff};
    if (const auto report = ActivityRegistry::read_report(bad); report && report->snapshot.call) {
      EXPECT_FALSE(describe(report->snapshot.call->operation).empty());
    }
  }
}

}  // namespace
}  // namespace weir::core
