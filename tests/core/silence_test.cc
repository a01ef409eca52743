// SPDX-License-Identifier: Apache-2.0
// Ranks that do not answer: who is accused of that, when, and who is not.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "src/base/process_id.h"
#include "src/core/diagnosis/watchdog.h"
#include "tests/core/rank.h"
#include "tests/core/status_words.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kQuick;
using ::testing::StartsWith;
using testing::words;

/// An address at which somebody listens and never answers: as if the network between had gone.
class DeafAddress {
 public:
  DeafAddress() : socket_(std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)))) {}
  SocketAddress address() const { return *socket_.local_address(); }

 private:
  Socket socket_;
};

/// What rank 0 finds out about rank 1, which is in no call, has its listener at `listeners`, and is waited
/// for in vain until `enough`. `process`: of rank 1, if it is on the same host.
Status examine_rank_at(const std::vector<SocketAddress>& listeners, const std::function<bool()>& enough,
                       std::optional<ProcessId> process = std::nullopt) {
  ActivityRegistry activities;
  const auto self = Listener::open(SocketAddress::loopback(AF_INET, 0), nullptr);
  (*self)->admit(0, {});
  Watchdog::Spec spec;
  spec.uid = 7;
  spec.rank = 0;
  std::vector<PeerAddress> peers = {{(*self)->address(), 1, 1, "here"}, {listeners[0], 2, 2, "there"}};
  if (process) peers[1] = {listeners[0], 1, process->pid, "here", {}, *process};
  peers[1].other_listeners.assign(listeners.begin() + 1, listeners.end());
  spec.peers = std::make_shared<const std::vector<PeerAddress>>(std::move(peers));
  spec.activities = &activities;
  spec.activity = activities.enter(7, 0);
  spec.timeouts = kQuick;
  Watchdog watchdog(std::move(spec));
  const int64_t start = now_ns();
  while (!enough() && now_ns() - start < 20'000'000'000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    WEIR_TRY(watchdog.examine(1, now_ns() - start));
  }
  return enough() ? Status() : Status(Code::internal_error, "waited in vain");
}

TEST(Silence, ARankIsAskedAtAllItsListeners) {
  ActivityRegistry activities;
  const auto activity = activities.enter(7, 1);
  std::atomic<int> asked{0};
  const auto listener =
      Listener::open(SocketAddress::loopback(AF_INET, 0), [&](uint64_t scope, BytesView question) {
        asked += scope == 7;  // others of this host may ask for reports
        return activities.answer(scope, question);
      });
  (*listener)->admit(0, {});
  const DeafAddress deaf;
  std::string out_of_reach;
  std::thread other([&] {
    out_of_reach = words(examine_rank_at({deaf.address(), deaf.address()}, [] { return false; }));
  });
  // It is asked again only after its first answer was good.
  EXPECT_EQ(words(examine_rank_at({deaf.address(), (*listener)->address()}, [&] { return asked >= 2; })),
            "ok");
  other.join();
  EXPECT_THAT(out_of_reach, AllOf(StartsWith("6: "), HasSubstr("rank 1")));
}

/// On a busy host the thread that answers may have no core for seconds.
TEST(Silence, AProcessOfThisHostThatRunsIsNotAccusedOfSilence) {
  const DeafAddress deaf;
  const int64_t start = now_ns();
  const auto enough = [&] { return now_ns() - start > 2 * kQuick.peer_ms * kNsPerMs; };
  EXPECT_EQ(words(examine_rank_at({deaf.address()}, enough, own_process_id())), "ok");
}

/// Its socket may still accept connections: a child that it has forked has it too.
TEST(Silence, AProcessOfThisHostThatIsGoneIsDeadAlthoughItsAddressAccepts) {
  const DeafAddress deaf;
  ProcessId gone = own_process_id();
  gone.start -= 1;  // its number was given to another process, this one
  EXPECT_THAT(words(examine_rank_at(
                  {deaf.address()}, [] { return false; }, gone)),
              AllOf(StartsWith("6: rank 1 (pid "), HasSubstr("is dead: the process has ended")));
}

/// Rank 1 is out of reach of rank 0; rank 2 is a process of rank 1's host that answers.
class Witness {
 public:
  /// `process`: what rank 2 knows as that of rank 1.
  explicit Witness(const ProcessId& process)
      : listener_(std::move(*Listener::open(
            SocketAddress::loopback(AF_INET, 0),
            [this](uint64_t scope, BytesView question) { return activities_.answer(scope, question); }))),
        self_(std::move(*Listener::open(SocketAddress::loopback(AF_INET, 0), nullptr))) {
    listener_->admit(0, {});
    self_->admit(0, {});
    constexpr uint64_t kHere = 1, kThere = 2;
    peers_ = std::make_shared<const std::vector<PeerAddress>>(
        std::vector<PeerAddress>{{self_->address(), kHere, 1, "here"},
                                 {deaf_.address(), kThere, process.pid, "there", {}, process},
                                 {listener_->address(), kThere, 3, "there"}});
    activities_.enter(kScope, 2)->tell_peers(peers_, 2);
  }

  /// What rank 0 finds out until `enough_ms` have passed.
  std::string found_within(int64_t enough_ms) {
    ActivityRegistry activities;
    Watchdog::Spec spec;
    spec.uid = kScope;
    spec.peers = peers_;
    spec.activities = &activities;
    spec.activity = activities.enter(kScope, 0);
    spec.timeouts = kQuick;
    Watchdog watchdog(std::move(spec));
    const int64_t start = now_ns();
    Status said;
    while (said.ok() && now_ns() - start < enough_ms * kNsPerMs) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      said = watchdog.examine(1, now_ns() - start);
    }
    return words(said);
  }

 private:
  static constexpr uint64_t kScope = 7;
  const DeafAddress deaf_;
  ActivityRegistry activities_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Listener> self_;
  std::shared_ptr<const std::vector<PeerAddress>> peers_;
};

/// Takes real time: that in which it would be accused.
TEST(Silence, AProcessThatRunsAsItsHostSaysHasMoreTime) {
  Witness witness(own_process_id());
  EXPECT_EQ(witness.found_within(2 * kQuick.peer_ms), "ok");
}

TEST(Silence, AProcessThatRunsAsItsHostSaysHasNotForEver) {
  Witness witness(own_process_id());
  EXPECT_THAT(witness.found_within(110'000),
              AllOf(StartsWith("6: rank 1 (pid "), HasSubstr("does not answer"),
                    HasSubstr("although its process runs, as rank 2 of its host says")));
}

TEST(Silence, AProcessThatIsGoneAsItsHostSaysIsDead) {
  ProcessId gone = own_process_id();
  gone.start -= 1;
  Witness witness(gone);
  EXPECT_THAT(witness.found_within(60'000),
              AllOf(StartsWith("6: rank 1 (pid "), HasSubstr("is dead: the process has ended")));
}

TEST(Silence, AProcessThatIsStoppedAsItsHostSaysIsSaidToBeStopped) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  kill(child, SIGSTOP);
  waitpid(child, nullptr, WUNTRACED);
  Witness witness({.kernel = own_process_id().kernel, .pid_space = own_process_id().pid_space, .pid = child});
  EXPECT_THAT(witness.found_within(60'000),
              AllOf(StartsWith("6: rank 1 (pid "), HasSubstr("is stopped (by a signal or a debugger)")));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

/// Takes real time. Rank 0 looks only every 400 ms, 300 ms later than it is to: so may the other host.
TEST(Silence, WhoRunsLateItselfWaitsLongerForOthers) {
  const DeafAddress deaf;
  const SocketAddress own = SocketAddress::loopback(AF_INET, 1);
  ActivityRegistry activities;
  Watchdog::Spec spec;
  spec.uid = 7;
  spec.peers = std::make_shared<const std::vector<PeerAddress>>(
      std::vector<PeerAddress>{{own, 1, 1, "here"}, {deaf.address(), 2, 2, "there"}});
  spec.activities = &activities;
  spec.activity = activities.enter(7, 0);
  spec.timeouts = {.peer_ms = 200};
  Watchdog watchdog(std::move(spec));
  const int64_t start = now_ns();
  Status said;
  while (said.ok() && now_ns() - start < 60'000 * kNsPerMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    said = watchdog.examine(1, now_ns() - start);
  }
  EXPECT_THAT(words(said), HasSubstr("is stopped or out of reach"));
  EXPECT_GE(now_ns() - start, 300 * SchedulingDelay::kFactor * kNsPerMs);
}

}  // namespace
}  // namespace weir::core
