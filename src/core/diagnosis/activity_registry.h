// SPDX-License-Identifier: Apache-2.0
/// What the communicators of this process are doing, for whoever asks at the listener.
///
/// An Activity belongs to one rank of one communicator. The rank writes it as it goes, without locks; the
/// listener's thread reads it. An ActivityRegistry is the process's registry of them and answers the
/// questions of other processes' watchdogs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/types.h"
#include "src/core/call/operation.h"
#include "src/core/call/peer_address.h"
#include "src/core/diagnosis/recorder.h"
#include "weir/status.h"

namespace weir::core {

/// Why a communicator cannot go on, and whose fault it is.
struct Failure {
  Rank culprit = -1;  ///< -1: nobody in particular
  Status status;      ///< never success
};

/// A call as the watchdog sees it. `signature` 0 is not compared (sends and receives differ between ranks).
struct CallRecord {
  uint64_t sequence = 0;  ///< counts the calls of a communicator from 1
  uint32_t signature = 0;
  Operation operation;  ///< without pointers and factors
};

/// What a rank is doing.
struct Snapshot {
  enum class State : uint8_t {
    outside,  ///< in no call
    inside,   ///< in a call
    joining,  ///< exchanging set-up information (init, split)
  };
  State state = State::outside;
  uint64_t sequence = 0;           ///< of the call it began last; 0: none yet
  Rank waiting_for = -1;           ///< -1: for nobody, it works
  std::vector<Rank> also;          ///< for whom else it waits at the same time, as far as it tells
  int64_t waiting_ns = 0;          ///< for how long
  std::optional<CallRecord> call;  ///< its call with the sequence number that was asked for, if remembered
  std::optional<Failure> failure;
};

/// Writers: begin, end, exchange and wait_for are called by the thread that carries out the rank's calls, one
/// at a time. fail and everything const may be called from any thread.
class Activity {
 public:
  static constexpr size_t kAlso = 7;  ///< that wait_for() tells beside the first

  /// What the communicator is at, as far as operations do not tell.
  enum class Stage : uint8_t { joining, connected, suspended, aborted };
  /// What does not change, once it is known.
  struct About {
    std::string name;    ///< that the user gave; may be empty
    std::string device;  ///< "host memory", or the GPU
    int gpu = -1;        ///< its number in the process; -1: host memory
    std::shared_ptr<const std::vector<PeerAddress>>
        peers;  ///< by rank; null: not in the ActivityRegistry any more
  };

  explicit Activity(size_t recorded = Recorder::kDefaultCapacity) : recorder_(recorded) {}

  /// Costs a few plain stores. `signature` 0: not to be compared.
  void begin(uint64_t sequence, uint32_t signature, const Operation& operation) {
    record(sequence, signature, operation, false);
    head_.store(sequence << 2 | static_cast<uint64_t>(Snapshot::State::inside), std::memory_order_release);
  }
  /// A further operation that is begun beside the last one.
  void note(uint64_t sequence, const Operation& operation) { record(sequence, 0, operation, true); }
  /// Left the call, or the exchange.
  void end() {
    recorder_.end();
    head_.store(head_.load(std::memory_order_relaxed) & ~uint64_t{3}, std::memory_order_release);
    if (waiting_for_.load(std::memory_order_relaxed) != -1) waiting_for_.store(-1, std::memory_order_relaxed);
  }
  /// Entered an exchange of set-up information; end() leaves it.
  void exchange() {
    const uint64_t sequence = head_.load(std::memory_order_relaxed) & ~uint64_t{3};
    head_.store(sequence | static_cast<uint64_t>(Snapshot::State::joining), std::memory_order_release);
  }
  /// Waits for these, of which the first few are told to others, has looked in vain for `waited_ns`, and says
  /// so again at least every 100 ms while that lasts; else it counts as working. Watchdog::examine does this.
  void wait_for(std::span<const Rank> peers, int64_t waited_ns = 0);

  /// The communicator has failed. The first failure stays.
  void fail(Failure failure);
  Recorder& recorder() { return recorder_; }
  const Recorder& recorder() const { return recorder_; }
  void set_stage(Stage stage) { stage_.store(stage, std::memory_order_relaxed); }
  Stage stage() const { return stage_.load(std::memory_order_relaxed); }
  /// Any thread.
  void tell_about(std::string name, std::string device, int gpu = -1);
  void tell_peers(std::shared_ptr<const std::vector<PeerAddress>> peers);
  About about() const;

  /// One load.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Success while not failed().
  Status status() const;

  /// With the call number `sequence`, if it is still remembered.
  Snapshot snapshot(uint64_t sequence) const;

  /// The words that describe an operation in records and answers.
  static uint64_t pack(const Operation& operation) {
    return static_cast<uint64_t>(operation.kind) | static_cast<uint64_t>(operation.sends) << 7 |
           static_cast<uint64_t>(operation.type) << 8 | static_cast<uint64_t>(operation.reduction.op) << 16 |
           static_cast<uint64_t>(operation.reduction.scaling) << 24 |
           static_cast<uint64_t>(operation.side) << 28 | static_cast<uint64_t>(operation.root) << 32;
  }
  static Operation unpack(uint64_t what, uint64_t count);

 private:
  void record(uint64_t sequence, uint32_t signature, const Operation& operation, bool beside) {
    recorder_.begin({sequence, signature, operation.kind, pack(operation), operation.count,
                     operation.count * size_of(operation.type), beside});
  }
  std::optional<CallRecord> recall(uint64_t sequence) const;

  std::atomic<uint64_t> head_{0};  ///< sequence << 2 | state
  std::atomic<Rank> waiting_for_{-1};
  std::array<std::atomic<Rank>, kAlso> also_{};  ///< while waiting_for_ is not -1; -1: none
  std::atomic<int64_t> waiting_since_ns_{0};
  std::atomic<int64_t> looked_ns_{0};
  std::atomic<bool> failed_{false};
  std::atomic<Stage> stage_{Stage::joining};
  Recorder recorder_;
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
  About about_;
};

/// What a process answers about a rank.
struct ActivityReport {
  enum class Presence : uint8_t {
    here,     ///< see `snapshot`
    not_yet,  ///< this process has not made that communicator rank
    left,     ///< it had it, and destroyed or aborted it; `snapshot` tells whether after a failure
  };
  Presence presence = Presence::not_yet;
  Snapshot snapshot;
};

/// Thread-safe. Outlives the listener that it answers for.
class ActivityRegistry {
 public:
  /// `recorded`: so many operations of each communicator are remembered.
  explicit ActivityRegistry(size_t recorded = Recorder::kDefaultCapacity) : recorded_(recorded) {}

  /// A rank that looks for the others of a communicator, which has no name yet.
  struct Joining {
    Rank rank = 0;
    int ranks = 0;
    std::string root;  ///< where they gather
    int64_t since_ns = 0;
  };
  /// Says so while it lives.
  class JoiningNote {
   public:
    JoiningNote(ActivityRegistry& activities, Joining joining);
    ~JoiningNote();
    JoiningNote(const JoiningNote&) = delete;

   private:
    ActivityRegistry& activities_;
    std::list<Joining>::iterator at_;
  };
  std::vector<Joining> joining() const;

  using Each = std::function<void(uint64_t uid, Rank rank, const Activity& activity)>;
  /// Calls it for each rank of a communicator that lives in this process, which cannot leave meanwhile. It
  /// must not call this object.
  void for_each(const Each& each) const;

  /// Makes the record of rank `rank` of communicator `uid` and answers questions about it until leave().
  std::shared_ptr<Activity> enter(uint64_t uid, Rank rank);
  void leave(uint64_t uid, Rank rank);

  /// What rank `rank` of this process does.
  ActivityReport report(uint64_t uid, Rank rank, uint64_t sequence) const;
  /// Tells all ranks of `uid` in this process, also those that enter later: others may know of a failure
  /// before a rank knows the communicator.
  void fail(uint64_t uid, const Failure& failure);

  /// The listener's handler: answers what the functions below ask.
  Bytes answer(uint64_t uid, BytesView question);

  static Bytes question(Rank rank, uint64_t sequence);
  static Bytes notice(const Failure& failure);
  /// Nothing, if the bytes are no answer to question().
  static std::optional<ActivityReport> read_report(BytesView answer);

 private:
  using Key = std::pair<uint64_t, Rank>;
  static constexpr size_t kMostLeft = 1024;
  static constexpr size_t kMostFailed = 64;

  const size_t recorded_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Activity>> activities_;
  std::map<Key, std::shared_ptr<Activity>> left_;
  std::deque<Key> left_by_age_;
  std::deque<std::pair<uint64_t, Failure>> failed_;  ///< the latest last
  std::list<Joining> joining_;
};

}  // namespace weir::core
