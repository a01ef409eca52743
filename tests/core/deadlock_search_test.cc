// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/deadlock_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace weir::core {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kFirst = 1, kSecond = 2, kThird = 3;
using Place = std::pair<uint64_t, Rank>;

/// Threads of one process, each a rank of two communicators of two ranks.
class Threads {
 public:
  ~Threads() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  /// A thread that is `at` and `also`. It waits at the former for the other rank, or computes after it has
  /// waited.
  void start(Place at, Place also, bool waits = true) {
    std::vector<std::shared_ptr<Activity>> places;
    for (const Place& place : {at, also}) {
      places.push_back(activities_.enter(place.first, place.second));
      places.back()->tell_peers(peers_, place.second);
    }
    threads_.emplace_back([this, places, at, waits] {
      const Rank other[] = {1 - at.second};
      for (const auto& place : places) {
        place->begin(1, 0, {.count = 1});
        place->wait_for(other);
        place->end();
      }
      if (waits) places.front()->begin(2, 0, {.count = 1});
      ++begun_;
      while (!done_) {
        if (waits) places.front()->wait_for(other, 5 * kNsPerMs);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    while (begun_ < threads_.size()) std::this_thread::yield();
  }
  /// Walks from rank 0 of kFirst, whose rank 1 does not come, until the walk ends as expected: on a busy
  /// machine a thread may not have said for a while that it waits.
  std::unique_ptr<DeadlockSearch> walk_until(DeadlockSearch::State end) {
    for (;;) {
      const ActivityReport there = activities_.report(kFirst, 1, 0);
      if (!there.thread_wait) continue;
      auto walk = std::make_unique<DeadlockSearch>(DeadlockSearch::Origin{kFirst, 0, here_, {}}, activities_,
                                                   here_, *there.thread_wait);
      if (walk->advance() == end) return walk;
    }
  }
  ActivityRegistry& activities() { return activities_; }

 private:
  const SocketAddress here_ = SocketAddress::loopback(AF_INET, 4711);
  const std::shared_ptr<const std::vector<PeerAddress>> peers_ =
      std::make_shared<const std::vector<PeerAddress>>(
          std::vector<PeerAddress>{{here_, 1, 1, "here"}, {here_, 1, 1, "here"}});
  ActivityRegistry activities_;
  std::atomic<bool> done_ = false;
  std::atomic<size_t> begun_ = 0;
  std::vector<std::thread> threads_;
};

TEST(DeadlockSearch, ComesBackThroughThreeCommunicators) {
  Threads threads;
  threads.start({kFirst, 0}, {kThird, 1});
  threads.start({kSecond, 0}, {kFirst, 1});
  threads.start({kThird, 0}, {kSecond, 1});
  const auto walk = threads.walk_until(DeadlockSearch::State::closed);
  EXPECT_THAT(walk->words(),
              HasSubstr("waits for rank 1 (pid 1 on host here) in communicator 0x2, which waits for "
                        "rank 1 (pid 1 on host here) in communicator 0x3, which waits for rank 1 "
                        "(pid 1 on host here) in communicator 0x1"));
  EXPECT_GE(walk->least_wait_ns(), 5 * kNsPerMs);
  walk->tell({-1, Status(Code::remote_error, "a ring")});
  for (const uint64_t uid : {kFirst, kSecond, kThird})
    EXPECT_TRUE(threads.activities().report(uid, 0, 0).snapshot.failure.has_value());
}

TEST(DeadlockSearch, EndsAtAThreadThatDoesNotWait) {
  Threads threads;
  threads.start({kFirst, 0}, {kThird, 1});
  threads.start({kSecond, 0}, {kFirst, 1});
  threads.start({kThird, 0}, {kSecond, 1}, false);
  threads.walk_until(DeadlockSearch::State::open);
}

TEST(DeadlockSearch, IsOnlyThroughPlacesOfTheSameThread) {
  Threads threads;
  threads.start({kFirst, 0}, {kSecond, 1});
  threads.start({kFirst, 1}, {kThird, 0}, false);
  threads.start({kSecond, 0}, {kThird, 1});
  EXPECT_FALSE(threads.activities().report(kFirst, 1, 0).thread_wait.has_value());
  while (!threads.activities().report(kThird, 1, 0).thread_wait) std::this_thread::yield();
}

/// Calls of a group go on side by side, so that one does not wait because another one does.
TEST(DeadlockSearch, IsNotThroughOtherCallsOfAGroup) {
  ActivityRegistry activities;
  const auto peers = std::make_shared<const std::vector<PeerAddress>>(std::vector<PeerAddress>(2));
  const auto first = activities.enter(kFirst, 0), second = activities.enter(kSecond, 0);
  const Rank other[] = {1};
  for (const auto& one : {first, second}) {
    one->tell_peers(peers, 0);
    one->begin(1, 0, {.count = 1});
    one->wait_for(other);
    one->end();
  }
  for (const auto& one : {first, second}) one->begin(2, 0, {.count = 1});
  second->wait_for(other);
  EXPECT_FALSE(activities.report(kFirst, 0, 0).thread_wait.has_value());
  first->end();
  while (!activities.report(kFirst, 0, 0).thread_wait) second->wait_for(other);
}

}  // namespace
}  // namespace weir::core
