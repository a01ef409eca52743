// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/bootstrap.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

#include "src/base/clock.h"
#include "src/base/shortage.h"
#include "src/core/bootstrap/root_link.h"
#include "tests/core/processes.h"
#include "tests/core/rank.h"
#include "tests/core/status_words.h"
#include "tests/net/receive.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using testing::Event;
using ::testing::HasSubstr;
using testing::Processes;
using testing::quiet_address;
using testing::RootProcess;
using testing::Site;
using ::testing::StartsWith;
using testing::to_bytes;
using testing::to_text;
using testing::words;

SocketAddress loopback() { return SocketAddress::loopback(AF_INET, 0); }

/// An id whose root runs in this (the test's) process.
UniqueId make_id(Roots& roots) {
  auto id = roots.make_id(loopback(), {});
  EXPECT_TRUE(id.ok()) << id.status().message();
  return *id;
}

/// Joins, gathers "r<rank>" from all twice, and checks what came.
Status join_and_gather(const Bootstrap::Spec& spec) {
  auto joined = Bootstrap::join(spec);
  WEIR_TRY(joined.status());
  Bootstrap& bootstrap = **joined;
  for (int turn = 0; turn < 2; ++turn) {
    auto all = bootstrap.all_gather(to_bytes(fmt::format("r{}", spec.rank)));
    WEIR_TRY(all.status());
    for (int rank = 0; rank < spec.ranks; ++rank) {
      if (to_text((*all)[static_cast<size_t>(rank)]) != fmt::format("r{}", rank)) {
        return Status(Code::internal_error, fmt::format("wrong bytes of rank {}", rank));
      }
    }
  }
  return {};
}

TEST(Bootstrap, ThreadsOfOneProcessMeet) {
  for (const int ranks : {1, 2, 3, 5, 8, 13, 64}) {
    Site site;
    const UniqueId id = make_id(site.roots);
    std::vector<std::thread> threads;
    std::vector<Status> results(static_cast<size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back(
          [&, rank] { results[static_cast<size_t>(rank)] = join_and_gather(site.spec(id, ranks, rank)); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& result : results) EXPECT_EQ(words(result), "ok");
  }
}

/// The advertised address is one of a router: nothing listens there, nor does anything lead back from it.
TEST(Bootstrap, ProcessesOfANetworkNamespaceMeetAtTheirOwnAddresses) {
  Site site;
  const Advertisement advertised = *Advertisement::parse("127.0.0.99", {});
  const auto id = site.roots.make_id(loopback(), {}, {}, {}, advertised);
  ASSERT_TRUE(id.ok()) << id.status().message();
  EXPECT_EQ(id->root.host_text(), "127.0.0.99");
  EXPECT_TRUE(id->has_own_address());
  const auto passed_on = UniqueId::decode(id->encode());
  ASSERT_TRUE(passed_on.ok());
  EXPECT_EQ(*passed_on, *id);
  EXPECT_EQ(words(join_and_gather(site.spec(*passed_on, 1, 0))), "ok");
}

TEST(Bootstrap, ProcessesMeetWithRanksInAnyOrder) {
  const RootProcess root;
  const UniqueId id = root.id();
  constexpr int kRanks = 7;
  Processes processes(kRanks, [&](int index, const Processes::Voice& voice) {
    Site site;
    voice.say(words(join_and_gather(site.spec(id, kRanks, kRanks - 1 - index))));
  });
  for (int i = 0; i < kRanks; ++i) EXPECT_EQ(processes.line(i), "ok");
}

TEST(Bootstrap, EverybodyKnowsWhereEverybodyIs) {
  const RootProcess root;
  const UniqueId id = root.id();
  Processes processes(3, [&](int rank, const Processes::Voice& voice) {
    Site site;
    auto joined = Bootstrap::join(site.spec(id, 3, rank, static_cast<uint64_t>(100 + rank)));
    if (!joined.ok()) return voice.say(words(joined.status()));
    std::string text = fmt::format("{:x}", (*joined)->uid());
    for (const PeerAddress& peer : (*joined)->peers()) text += fmt::format(" {}/{}", peer.pid, peer.host);
    (void)(*joined)->barrier();
    voice.say(text);
  });
  const std::string first = processes.line(0);
  EXPECT_THAT(first, HasSubstr(fmt::format(" {}/100 {}/101 {}/102", processes.pid(0), processes.pid(1),
                                           processes.pid(2))));
  EXPECT_EQ(processes.line(1), first);
  EXPECT_EQ(processes.line(2), first);
}

/// Nobody is taken for dead here: on few cores each of so many processes waits for its turn for seconds.
TEST(Bootstrap, TwoHundredFiftySixProcessesMeet) {
#if defined(__SANITIZE_THREAD__)
  constexpr int kRanks = 64;
#else
  constexpr int kRanks = 256;
#endif
  constexpr Timeouts kPatient{.init_ms = 100'000, .peer_ms = 100'000};
  const RootProcess root(kPatient);
  const UniqueId id = root.id();
  const int64_t start = now_ns();
  Processes processes(kRanks, [&](int rank, const Processes::Voice& voice) {
    Site site(kPatient);
    voice.say(words(join_and_gather(site.spec(id, kRanks, rank))));
  });
  for (int i = 0; i < kRanks; ++i) ASSERT_EQ(processes.line(i, 100), "ok");
  RecordProperty("milliseconds", static_cast<int>((now_ns() - start) / 1'000'000));
}

TEST(Bootstrap, AFixedAddressServesCommunicatorsOneAfterTheOther) {
  const UniqueId id = Roots::fixed_id(quiet_address());
  constexpr int kRanks = 4;
  Processes processes(kRanks, [&](int rank, const Processes::Voice& voice) {
    Site site;
    std::string text = "ok";
    for (int turn = 0; turn < 10 && text == "ok"; ++turn)
      text = words(join_and_gather(site.spec(id, kRanks, rank)));
    voice.say(text);
  });
  for (int i = 0; i < kRanks; ++i) EXPECT_EQ(processes.line(i), "ok");
}

TEST(Bootstrap, WhoComesForTheNextCommunicatorIsSentAway) {
  Site site;
  const UniqueId id = Roots::fixed_id(quiet_address());
  ASSERT_TRUE(site.roots.start_fixed(id, id.secret, {}, nullptr).ok());
  root_wire::Hello hello;
  hello.nonce = id.nonce;
  hello.ranks = 1;
  hello.peer = {loopback(), 0, getpid(), "here"};
  auto link = RootLink::open(id, id.secret, hello, {}, nullptr);
  ASSERT_TRUE(link.ok());
  while (!(*link)->listeners()) ASSERT_TRUE((*link)->serve(10).ok());
  // All ranks have come, but are not done: the root is there, and for them alone.
  auto socket = Socket::connect(id.root, Deadline::in_ms(20'000));
  ASSERT_TRUE(socket.ok());
  Frames next(std::move(*socket));
  next.send(hello.encode());
  const Deadline soon = Deadline::in_ms(20'000);
  while (next.receive().ok() && !soon.over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(soon.over());
  (*link)->leave({});
}

TEST(Bootstrap, APortInUseIsNamed) {
  auto taken = Socket::listen(loopback());
  ASSERT_TRUE(taken.ok());
  const UniqueId id = Roots::fixed_id(*taken->local_address());
  Site site({.init_ms = 1000});
  auto joined = Bootstrap::join(site.spec(id, 2, 0));
  EXPECT_EQ(joined.status().code(), Code::invalid_usage);
  EXPECT_THAT(joined.status().message(),
              AllOf(HasSubstr(fmt::format("port {}", id.root.port())), HasSubstr("already used")));
}

TEST(Bootstrap, ASubsetExchangesAmongItself) {
  Site site;
  const UniqueId id = make_id(site.roots);
  constexpr int kRanks = 5;
  std::vector<std::thread> threads;
  std::vector<std::string> results(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      auto parent = Bootstrap::join(site.spec(id, kRanks, rank));
      if (!parent.ok()) return;
      const std::vector<Rank> members = rank % 2 == 0 ? std::vector<Rank>{4, 0, 2} : std::vector<Rank>{1, 3};
      auto part = Bootstrap::subset(**parent, members, (*parent)->uid() + 2 + static_cast<uint64_t>(rank % 2),
                                    nullptr);
      if (!part.ok()) return;
      auto all = (*part)->all_gather(to_bytes(std::to_string(rank)));
      if (!all.ok()) return;
      for (const Bytes& one : *all) results[static_cast<size_t>(rank)] += to_text(one);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, (std::vector<std::string>{"402", "13", "402", "13", "402"}));
}

TEST(Bootstrap, ASubsetNeedsItsOwnRank) {
  Site site;
  auto parent = Bootstrap::join(site.spec(make_id(site.roots), 1, 0));
  ASSERT_TRUE(parent.ok());
  EXPECT_THAT(Bootstrap::subset(**parent, {}, 7, nullptr).status().message(),
              HasSubstr("rank 0 is not among"));
  EXPECT_THAT(Bootstrap::subset(**parent, {0, 1}, 7, nullptr).status().message(),
              HasSubstr("rank 1 is not in"));
}

// ---- what can go wrong ----

/// Runs one process per entry of `ranks`, each with its own idea of rank and number of ranks; returns what
/// each says. They begin together: on a busy machine one starts long after the other.
std::vector<std::string> join_as(const std::vector<std::pair<int, int>>& ranks, const Timeouts& timeouts) {
  const RootProcess root(timeouts);
  const UniqueId id = root.id();
  const Event all_are_there;
  Processes processes(static_cast<int>(ranks.size()), [&](int index, const Processes::Voice& voice) {
    Site site(timeouts);
    voice.say("here");
    all_are_there.wait();
    const auto [rank, size] = ranks[static_cast<size_t>(index)];
    voice.say(words(Bootstrap::join(site.spec(id, size, rank)).status()));
  });
  for (size_t i = 0; i < ranks.size(); ++i) EXPECT_EQ(processes.line(static_cast<int>(i)), "here");
  all_are_there.happen();
  std::vector<std::string> said;
  for (size_t i = 0; i < ranks.size(); ++i) said.push_back(processes.line(static_cast<int>(i)));
  return said;
}

TEST(Bootstrap, RanksThatDisagreeOnTheirNumberAreNamedToAll) {
  for (const std::string& said : join_as({{0, 3}, {1, 4}, {2, 3}}, {})) {
    EXPECT_THAT(said, AllOf(StartsWith("5: the ranks disagree on nranks"), HasSubstr("rank 1 (pid"),
                            HasSubstr("has 4"), HasSubstr("has 3")));
  }
}

TEST(Bootstrap, ARankThatComesTwiceIsNamedToAll) {
  for (const std::string& said : join_as({{0, 3}, {1, 3}, {1, 3}}, {})) {
    EXPECT_THAT(said, AllOf(StartsWith("5: "), HasSubstr("joined as rank 1"), HasSubstr("pid")));
  }
}

TEST(Bootstrap, WhatARankLacksIsToldToTheOthersWithItsName) {
  Site site, other;
  const UniqueId id = make_id(site.roots);
  const auto link = testing::come_to_the_root(other, id, 2, 1);
  ASSERT_TRUE(link.ok()) << link.status().message();
  (*link)->leave(system_failure("cannot make a socket", EMFILE));
  const std::string said = words(Bootstrap::join(site.spec(id, 2, 0)).status());
  EXPECT_THAT(said, AllOf(StartsWith("6: rank 1 (pid "),
                          HasSubstr("cannot set up the communicator: cannot make a socket"),
                          HasSubstr("this process has no file descriptors left")));
}

TEST(Bootstrap, MissingRanksAreNamedToAll) {
  for (const std::string& said : join_as({{0, 8}, {3, 8}, {7, 8}}, {.init_ms = 1000})) {
    EXPECT_THAT(said, AllOf(StartsWith("6: 5 of 8 ranks have not joined"),
                            HasSubstr("(WEIR_INIT_TIMEOUT): ranks 1-2, 4-6")));
  }
}

/// Rank 0's process has the root, and ends when it hears of the failure; who comes a little later hears it,
/// too.
TEST(Bootstrap, ADeadRankIsNamedToThoseWhoComeLate) {
  const UniqueId id = Roots::fixed_id(quiet_address());
  const Event rank_2_comes;
  Processes processes(3, [&](int rank, const Processes::Voice& voice) {
    Site site;
    if (rank == 1) {
      const auto link = testing::come_to_the_root(site, id, 3, rank);
      voice.say(words(link.status()));
      while (link.ok() && (*link)->serve(10).ok()) {
      }
      return;
    }
    if (rank == 2) {
      voice.say("here");
      rank_2_comes.wait();
    }
    voice.say(words(Bootstrap::join(site.spec(id, 3, rank)).status()));
  });
  ASSERT_EQ(processes.line(2), "here");
  ASSERT_EQ(processes.line(1), "ok");
  testing::await_connections(id.root.port(), 2);
  processes.signal(1, SIGKILL);
  // The root hears of it meanwhile, and is there for half a second.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  rank_2_comes.happen();
  for (const int rank : {0, 2})
    EXPECT_THAT(processes.line(rank), AllOf(StartsWith("6: rank 1 (pid"), HasSubstr("ended while"))) << rank;
}

/// The root of ranks that have failed is still there when they come again.
TEST(Bootstrap, RanksThatFailedMeetAgainAtTheFixedAddress) {
  const UniqueId id = Roots::fixed_id(quiet_address());
  std::array<Site, 3> sites;
  std::atomic<bool> abort{false};
  std::atomic<int> failed{0};
  const auto join = [&](size_t rank, const std::atomic<bool>* with_abort) {
    Bootstrap::Spec spec = sites[rank].spec(id, 3, static_cast<int>(rank));
    spec.abort = with_abort;
    return words(Bootstrap::join(spec).status());
  };
  std::vector<std::thread> threads;
  for (const size_t rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      EXPECT_THAT(join(rank, rank == 1 ? &abort : nullptr), HasSubstr("abort"));
      ++failed;
      // Rank 1 comes first, most likely; it may be second.
      if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_EQ(join(rank, nullptr), "ok");
    });
  }
  testing::await_connections(id.root.port(), 2);
  abort = true;
  while (failed < 2) std::this_thread::yield();
  testing::await_connections(id.root.port(), 2);  // of the second root: rank 0 does not come to the first one
  EXPECT_EQ(join(2, nullptr), "ok");
  for (std::thread& thread : threads) thread.join();
}

TEST(Bootstrap, AnotherProtocolIsNamedToAll) {
  const RootProcess root;
  const UniqueId id = root.id();
  Processes processes(1, [&](int, const Processes::Voice& voice) {
    Site site;
    voice.say(words(Bootstrap::join(site.spec(id, 2, 0)).status()));
  });
  root_wire::Hello hello;
  hello.protocol = 77;
  hello.nonce = id.nonce;
  hello.rank = 1;
  hello.ranks = 2;
  hello.peer = {loopback(), 0, 4711, "elsewhere"};
  auto link = RootLink::open(id, id.secret, hello, {}, nullptr);
  Status told = link.status();
  while (told.ok()) told = (*link)->serve(50);
  const auto expected =
      AllOf(HasSubstr("rank 1 (pid 4711 on host elsewhere) runs another version"), HasSubstr("protocol 77"));
  EXPECT_THAT(told.message(), expected);
  EXPECT_THAT(processes.line(0), AnyOf(expected));
}

TEST(Bootstrap, StrangersAtTheRootDoNoHarm) {
  Site site;
  const UniqueId id = make_id(site.roots);
  const Deadline soon = Deadline::in_ms(20'000);
  auto http = Socket::connect(id.root, soon);
  ASSERT_TRUE(http.ok());
  ASSERT_TRUE(http->send_all(to_bytes("GET / HTTP/1.1\r\n\r\n"), soon).ok());
  auto mute = Socket::connect(id.root, soon);
  auto gone = Socket::connect(id.root, soon);
  gone->close();
  EXPECT_EQ(words(join_and_gather(site.spec(id, 1, 0))), "ok");
}

TEST(Bootstrap, StrangersAtTheListenerAreSentAway) {
  Site site;
  const UniqueId id = make_id(site.roots);
  auto joined = Bootstrap::join(site.spec(id, 1, 0));
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  const uint64_t uid = (*joined)->uid();
  const Deadline soon = Deadline::in_ms(15'000);
  const DeliveryKey of_a_split{uid ^ 1, 1, 0, 0};
  const DeliveryKey of_another_job{uid ^ uint64_t{1} << 63, 1, 0, 0};
  EXPECT_EQ(deliver(site.listener->address(), of_another_job, id.secret, soon).status().code(),
            Code::remote_error);
  EXPECT_EQ(deliver(site.listener->address(), of_a_split, Secret::from_text("a guess"), soon).status().code(),
            Code::remote_error);
  const auto connection = deliver(site.listener->address(), of_a_split, id.secret, soon);
  while (!soon.over() && !site.listener->collect(of_a_split)) sched_yield();
  EXPECT_FALSE(soon.over()) << "who has the unique id may come in";
}

TEST(Bootstrap, AnIdServesOneCommunicator) {
  Site site;
  const UniqueId id = make_id(site.roots);
  EXPECT_EQ(words(join_and_gather(site.spec(id, 1, 0))), "ok");
  const Status again = Bootstrap::join(site.spec(id, 1, 0)).status();
  EXPECT_THAT(again.message(),
              AnyOf(HasSubstr("expected a new id for each communicator"), HasSubstr("made the unique id")));
}

/// At once: long before any time is over in which a rank has to come or to answer.
TEST(Bootstrap, AbortEndsAJoinAtOnceAndTellsTheOthers) {
  constexpr int64_t kLongMs = 600'000;
  Site site({.init_ms = kLongMs, .peer_ms = kLongMs});
  const UniqueId id = make_id(site.roots);
  std::atomic<bool> abort{false};
  auto spec = site.spec(id, 3, 0);
  spec.abort = &abort;
  Status aborted, told;
  std::thread first([&] { aborted = Bootstrap::join(spec).status(); });
  std::thread second([&] { told = Bootstrap::join(site.spec(id, 3, 1)).status(); });
  testing::await_connections(id.root.port(), 2);
  const int64_t start = now_ns();
  abort = true;
  first.join();
  second.join();
  EXPECT_LT(now_ns() - start, kLongMs * kNsPerMs / 10);
  EXPECT_THAT(aborted.message(), HasSubstr("aborted"));
  EXPECT_THAT(told.message(), HasSubstr("aborted"));
}

TEST(Bootstrap, NothingLeaksOverManyCommunicators) {
  Site site;
  ASSERT_EQ(words(join_and_gather(site.spec(make_id(site.roots), 1, 0))), "ok");
  const auto cycle = [&] {
    const UniqueId id = make_id(site.roots);
    Status other;
    std::thread thread([&] { other = join_and_gather(site.spec(id, 2, 1)); });
    EXPECT_EQ(words(join_and_gather(site.spec(id, 2, 0))), "ok");
    thread.join();
    EXPECT_EQ(words(other), "ok");
  };
  cycle();
  const size_t descriptors = testing::count_descriptors();
  for (int i = 0; i < 200; ++i) cycle();
  // Roots and connections of the last turns may be ending.
  const Deadline deadline = Deadline::in_ms(20000);
  while (testing::count_descriptors() > descriptors + 6 && !deadline.over())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_LE(testing::count_descriptors(), descriptors + 6);
}

}  // namespace
}  // namespace weir::core
