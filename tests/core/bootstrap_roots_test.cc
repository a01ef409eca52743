// SPDX-License-Identifier: Apache-2.0
/// Ranks that meet through several roots (ncclCommInitRankScalable).

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "src/core/bootstrap/bootstrap.h"
#include "src/core/bootstrap/root_links.h"
#include "src/core/bootstrap/shares.h"
#include "tests/core/processes.h"
#include "tests/core/rank.h"
#include "tests/core/status_words.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using testing::Event;
using ::testing::HasSubstr;
using testing::Processes;
using testing::RootProcess;
using testing::Site;
using ::testing::StartsWith;
using testing::to_bytes;
using testing::to_text;
using testing::words;

using Ids = std::vector<UniqueId>;

Bootstrap::Spec spec_of(Site& site, const Ids& ids, int ranks, int rank) {
  Bootstrap::Spec spec = site.spec(ids[0], ranks, rank);
  const int roots = static_cast<int>(ids.size());
  const int place = root_of(rank, roots, ranks);
  spec.own_root = OwnRoot{ids[static_cast<size_t>(place)], nullptr, place, roots, digest_of(ids)};
  return spec;
}

/// The sentence of a join and two exchanges.
std::string meet(const Bootstrap::Spec& spec) {
  auto joined = Bootstrap::join(spec);
  if (!joined.ok()) return words(joined.status());
  for (int turn = 0; turn < 2; ++turn) {
    const auto all = (*joined)->all_gather(to_bytes(fmt::format("r{}", spec.rank)));
    if (!all.ok()) return words(all.status());
    for (int rank = 0; rank < spec.ranks; ++rank) {
      if (to_text((*all)[static_cast<size_t>(rank)]) != fmt::format("r{}", rank))
        return fmt::format("wrong bytes of rank {}", rank);
    }
  }
  return "ok";
}

std::vector<std::unique_ptr<RootProcess>> start_roots(size_t count, const Timeouts& timeouts = {}) {
  std::vector<std::unique_ptr<RootProcess>> roots;
  for (size_t i = 0; i < count; ++i) roots.push_back(std::make_unique<RootProcess>(timeouts));
  return roots;
}

Ids ids_of(const std::vector<std::unique_ptr<RootProcess>>& roots) {
  Ids ids;
  for (const auto& root : roots) ids.push_back(root->id());
  return ids;
}

TEST(BootstrapRoots, SharesAreConsecutiveAndTheLargerOnesComeFirst) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (int roots = 1; roots <= ranks; ++roots) {
      Rank next = 0;
      for (int root = 0; root < roots; ++root) {
        const Share share = share_of(root, roots, ranks);
        ASSERT_EQ(share.first, next);
        ASSERT_EQ(share.size(), static_cast<size_t>(ranks / roots + (root < ranks % roots ? 1 : 0)));
        for (Rank rank = share.first; rank < share.end; ++rank) ASSERT_EQ(root_of(rank, roots, ranks), root);
        next = share.end;
      }
      ASSERT_EQ(next, ranks);
    }
  }
}

TEST(BootstrapRoots, ProcessesMeetThroughTwoToFourRoots) {
  for (const auto& [count, ranks] : {std::pair{2, 2}, {2, 5}, {3, 7}, {4, 4}, {4, 11}}) {
    const auto roots = start_roots(static_cast<size_t>(count));
    const Ids ids = ids_of(roots);
    const int size = ranks;
    Processes processes(size, [&](int index, const Processes::Voice& voice) {
      Site site;
      voice.say(meet(spec_of(site, ids, size, size - 1 - index)));
    });
    for (int i = 0; i < size; ++i) EXPECT_EQ(processes.line(i), "ok") << count << " roots";
  }
}

TEST(BootstrapRoots, RootsMayBeInTheProcessesOfOtherRanks) {
  // The list is turned: each rank's root is in the process of another rank.
  constexpr int kRanks = 4;
  std::array<Site, kRanks> sites;
  for (size_t turn = 0; turn < kRanks; ++turn) {
    Ids ids;
    for (size_t i = 0; i < kRanks; ++i)
      ids.push_back(*sites[(i + turn) % kRanks].roots.make_id(SocketAddress::loopback(AF_INET, 0), {}));
    std::vector<std::string> said(kRanks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto at = static_cast<size_t>(rank);
      threads.emplace_back([&, at, rank] { said[at] = meet(spec_of(sites[at], ids, kRanks, rank)); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(said, ::testing::Each("ok")) << turn;
  }
}

/// A thousand ranks in a few processes, with roots in all of them.
TEST(BootstrapRoots, AThousandRanksMeet) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int kEach = 25;
#else
  constexpr int kEach = 250;
#endif
  constexpr int kProcesses = 4, kRanks = kEach * kProcesses;
  constexpr Timeouts kPatient{.init_ms = 100'000, .peer_ms = 100'000};
  const auto roots = start_roots(kProcesses, kPatient);
  const Ids ids = ids_of(roots);
  Processes processes(kProcesses, [&](int index, const Processes::Voice& voice) {
    Site site(kPatient);
    std::vector<std::thread> threads;
    std::atomic<int> met{0};
    for (int i = 0; i < kEach; ++i) {
      threads.emplace_back([&, i] {
        // Each process has ranks of all shares.
        const auto joined = Bootstrap::join(spec_of(site, ids, kRanks, i * kProcesses + index));
        if (joined.ok() && (*joined)->barrier().ok()) ++met;
      });
    }
    for (std::thread& thread : threads) thread.join();
    voice.say(std::to_string(met));
  });
  for (int i = 0; i < kProcesses; ++i) EXPECT_EQ(processes.line(i, 100), std::to_string(kEach));
}

TEST(BootstrapRoots, NothingLeaksOverManyCommunicators) {
  std::array<Site, 3> sites;
  const auto turn = [&] {
    Ids ids;
    for (Site& site : sites) ids.push_back(*site.roots.make_id(SocketAddress::loopback(AF_INET, 0), {}));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back(
          [&, rank] { EXPECT_EQ(meet(spec_of(sites[static_cast<size_t>(rank)], ids, 3, rank)), "ok"); });
    }
    for (std::thread& thread : threads) thread.join();
  };
  turn();
  const size_t descriptors = testing::count_descriptors();
  for (int i = 0; i < 60; ++i) turn();
  // Roots and connections of the last turns may be ending.
  const Deadline deadline = Deadline::in_ms(20'000);
  while (testing::count_descriptors() > descriptors + 9 && !deadline.over())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_LE(testing::count_descriptors(), descriptors + 9);
}

// ---- what can go wrong ----

/// Runs a process for each body, all at once, and returns what they say.
std::vector<std::string> said_by(const std::vector<std::function<std::string(Site&)>>& bodies,
                                 const Timeouts& timeouts = {}) {
  const Event all_are_there;
  Processes processes(static_cast<int>(bodies.size()), [&](int index, const Processes::Voice& voice) {
    Site site(timeouts);
    voice.say("here");
    all_are_there.wait();
    voice.say(bodies[static_cast<size_t>(index)](site));
  });
  for (size_t i = 0; i < bodies.size(); ++i) EXPECT_EQ(processes.line(static_cast<int>(i)), "here");
  all_are_there.happen();
  std::vector<std::string> said;
  for (size_t i = 0; i < bodies.size(); ++i) said.push_back(processes.line(static_cast<int>(i)));
  return said;
}

std::function<std::string(Site&)> rank_with(Ids ids, int ranks, int rank) {
  return [=](Site& site) { return meet(spec_of(site, ids, ranks, rank)); };
}

TEST(BootstrapRoots, MissingRanksOfAllSharesAreNamedToAll) {
  constexpr Timeouts kSoon{.init_ms = 1000};
  const auto roots = start_roots(3, kSoon);
  const Ids ids = ids_of(roots);
  // The shares are 0-3, 4-6 and 7-9; of the last one nobody comes.
  for (const std::string& said :
       said_by({rank_with(ids, 10, 0), rank_with(ids, 10, 2), rank_with(ids, 10, 5)}, kSoon)) {
    EXPECT_THAT(said, AllOf(StartsWith("6: 7 of 10 ranks have not joined"),
                            HasSubstr("(WEIR_INIT_TIMEOUT): ranks 1, 3-4, 6-9")));
  }
}

TEST(BootstrapRoots, RanksThatDisagreeOnTheNumberOfIdsAreNamedToAll) {
  const auto roots = start_roots(3);
  const Ids three = ids_of(roots);
  const Ids two{three[0], three[1]};
  // Rank 5 of 6 belongs to the second of two roots; there it meets ranks 2 and 3 of those with three.
  for (const std::string& said : said_by(
           {rank_with(three, 6, 0), rank_with(three, 6, 2), rank_with(three, 6, 4), rank_with(two, 6, 5)})) {
    EXPECT_THAT(said, AllOf(StartsWith("5: the ranks disagree on the number of unique ids (nId)"),
                            HasSubstr("rank 5 (pid"), HasSubstr("has 2"), HasSubstr("has 3")));
  }
}

TEST(BootstrapRoots, DifferentIdsAreNamedToAll) {
  const auto roots = start_roots(3);
  const Ids all = ids_of(roots);
  const Ids one{all[0], all[1]}, other{all[0], all[2]};
  for (const std::string& said :
       said_by({rank_with(one, 4, 0), rank_with(one, 4, 2), rank_with(other, 4, 3)})) {
    EXPECT_THAT(said, AllOf(StartsWith("5: "), HasSubstr("rank 3 (pid"),
                            HasSubstr("have different lists of 2 unique ids; expected the same ids in the "
                                      "same order on all ranks")));
  }
}

TEST(BootstrapRoots, RanksThatDisagreeOnTheirNumberAreNamedToAll) {
  const auto roots = start_roots(2);
  const Ids ids = ids_of(roots);
  for (const std::string& said :
       said_by({rank_with(ids, 4, 0), rank_with(ids, 4, 1), rank_with(ids, 4, 2), rank_with(ids, 5, 4)})) {
    EXPECT_THAT(said, AllOf(StartsWith("5: the ranks disagree on nranks"), HasSubstr("rank 4 (pid"),
                            HasSubstr("has 5"), HasSubstr("has 4")));
  }
}

TEST(BootstrapRoots, ARankThatComesTwiceIsNamedToAll) {
  const auto roots = start_roots(2);
  const Ids ids = ids_of(roots);
  for (const std::string& said : said_by({rank_with(ids, 4, 0), rank_with(ids, 4, 3), rank_with(ids, 4, 3)}))
    EXPECT_THAT(said, AllOf(StartsWith("5: "), HasSubstr("joined as rank 3")));
}

/// A rank whose root has ended before cannot tell it; the ranks of the first root hear of it all the same.
TEST(BootstrapRoots, ARootThatIsGoneIsNamedToAll) {
  for (const size_t gone : {0, 1}) {
    auto roots = start_roots(2);
    const Ids ids = ids_of(roots);
    roots[gone].reset();
    for (const std::string& said :
         said_by({rank_with(ids, 4, 0), rank_with(ids, 4, 1), rank_with(ids, 4, 3)})) {
      EXPECT_THAT(said, AllOf(StartsWith("6: "),
                              HasSubstr(fmt::format("the process that made unique id {} of 2, at {}",
                                                    gone + 1, ids[gone].root.text())),
                              HasSubstr("cannot be reached")));
    }
  }
}

/// A rank that has come to its root and, if it relays, to the first one, and goes no further.
class JoiningRank {
 public:
  JoiningRank(Site& site, const Ids& ids, int ranks, int rank) : spec_(spec_of(site, ids, ranks, rank)) {
    root_wire::Hello hello;
    hello.nonce = spec_.own_root->id.nonce;
    hello.rank = rank;
    hello.ranks = ranks;
    hello.root = spec_.own_root->place;
    hello.roots = spec_.own_root->roots;
    hello.list = spec_.own_root->list;
    hello.peer = {site.listener->address(), 1, static_cast<int32_t>(getpid()), short_hostname()};
    site.listener->admit(job_key_of(spec_.id), spec_.credentials());
    auto opened = RootLinks::open(spec_, hello);
    if (opened.ok()) links_ = std::move(*opened);
  }
  RootLinks* operator->() const { return links_.get(); }

 private:
  const Bootstrap::Spec spec_;
  std::unique_ptr<RootLinks> links_;
};

TEST(BootstrapRoots, ARootThatDiesIsNamedToAll) {
  for (const size_t dies : {0, 1}) {
    auto roots = start_roots(2);
    const Ids ids = ids_of(roots);
    constexpr int kRanks = 4;  // of whom rank 1 never comes
    Processes processes(3, [&](int index, const Processes::Voice& voice) {
      Site site;
      const int rank = index == 0 ? 0 : index + 1;
      voice.say(meet(spec_of(site, ids, kRanks, rank)));
    });
    // Rank 0 and the relay of the others at the first root; ranks 2 and 3 at the second one.
    testing::await_connections(ids[0].root.port(), 2);
    testing::await_connections(ids[1].root.port(), 2);
    roots[dies].reset();
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(processes.line(i),
                  AllOf(StartsWith("6: "),
                        HasSubstr(fmt::format("the process that made unique id {} of 2, at", dies + 1)),
                        HasSubstr("ended while the ranks were joining there")))
          << dies;
    }
  }
}

/// Whoever dies: a rank of the first share, a relay, another rank of its share.
TEST(BootstrapRoots, ADeadRankIsNamedToAll) {
  for (const int dies : {0, 2, 3}) {
    const auto roots = start_roots(2);
    const Ids ids = ids_of(roots);
    constexpr int kRanks = 5;  // of whom rank 1 never comes; the shares are 0-2 and 3-4
    const Event second;
    Processes processes(4, [&](int index, const Processes::Voice& voice) {
      Site site;
      const int rank = index == 0 ? 0 : index + 1;
      if (rank == 4) second.wait();  // rank 3 relays
      voice.say(meet(spec_of(site, ids, kRanks, rank)));
    });
    testing::await_connections(ids[0].root.port(), 3);
    second.happen();
    testing::await_connections(ids[1].root.port(), 2);
    processes.signal(dies, SIGKILL);
    const int rank = dies == 0 ? 0 : dies + 1;
    for (int i = 0; i < 4; ++i) {
      if (i == dies) continue;
      EXPECT_THAT(processes.line(i), AllOf(StartsWith("6: "), HasSubstr(fmt::format("rank {} (pid", rank)),
                                           HasSubstr("ended while")))
          << dies;
    }
  }
}

/// After the roots have introduced all ranks to each other one of them dies, and the others, who wait for its
/// bytes, hear it through both roots.
TEST(BootstrapRoots, ADeathDuringTheFirstExchangeIsNamedToAll) {
  constexpr int kRanks = 5;
  for (const int dies : {1, 3}) {
    const auto roots = start_roots(2);
    const Ids ids = ids_of(roots);
    Processes processes(kRanks, [&](int rank, const Processes::Voice& voice) {
      Site site;
      if (rank == dies) {
        JoiningRank joining(site, ids, kRanks, rank);
        while (!joining->listeners() && joining->serve(20).ok()) {
        }
        voice.say("introduced");
        while (joining->serve(20).ok()) {
        }
        return;
      }
      voice.say(meet(spec_of(site, ids, kRanks, rank)));
    });
    ASSERT_EQ(processes.line(dies), "introduced");
    processes.signal(dies, SIGKILL);
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == dies) continue;
      EXPECT_THAT(processes.line(rank), AllOf(StartsWith("6: "), HasSubstr(fmt::format("rank {} (pid", dies)),
                                              HasSubstr("ended while")));
    }
  }
}

TEST(BootstrapRoots, AbortEndsAJoinAtOnceAndTellsTheRanksOfAllRoots) {
  const auto roots = start_roots(2);
  const Ids ids = ids_of(roots);
  const Event abort_now;
  Processes processes(2, [&](int index, const Processes::Voice& voice) {
    Site site;
    std::atomic<bool> abort{false};
    std::thread other;
    if (index == 1) {
      other = std::thread([&] {
        abort_now.wait();
        abort = true;
      });
    }
    Bootstrap::Spec spec = spec_of(site, ids, 4, index * 2);
    spec.abort = &abort;
    voice.say(meet(spec));
    if (other.joinable()) other.join();
  });
  testing::await_connections(ids[0].root.port(), 2);
  abort_now.happen();
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(processes.line(i), HasSubstr("aborted while its ranks were joining"));
}

}  // namespace
}  // namespace weir::core
