// SPDX-License-Identifier: Apache-2.0
/// What the communicators of this process are doing, readable by other processes through the listener.
///
/// An Activity belongs to one rank of one communicator. The rank updates it without locks; the listener's
/// thread reads it. The ActivityRegistry has all those of the process and answers inquiries of other
/// processes' watchdogs.
/// Tests: tests/core/activity_registry_test.cc
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
#include <string_view>
#include <thread>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/status.h"
#include "src/base/types.h"
#include "src/core/call/operation_summary.h"
#include "src/core/call/peer_address.h"
#include "src/core/diagnosis/link_speed.h"
#include "src/core/diagnosis/recorder.h"
#include "src/net/listener/listener.h"

namespace weir::core {

class FailureRelay;

/// Why a communicator failed, and which rank caused it.
struct Failure {
  Rank culprit = -1;  ///< rank that caused it; -1: none known
  Status status;      ///< never success
  /// Listener of the process to blame, which may have no rank in this communicator; not valid: none.
  SocketAddress process = {};
  bool gone = false;  ///< that process has ended
  /// Who has found it while nobody waited, as the end of the sentence; empty: the status says it. A rank with
  /// a call under way names that call instead.
  std::string seen = {};

  /// Whether it explains that a process gives up its other communicators, too.
  bool spreads() const { return process.valid() && status.code() == Code::remote_error; }
};

/// A failure of another communicator that a process takes part in, because of which it may leave this one.
struct Cause {
  uint64_t uid = 0;  ///< of the communicator that has failed
  Failure failure;
};

/// A call as the watchdog sees it. `signature` 0 is not compared (sends and receives differ between ranks).
struct CallRecord {
  uint64_t sequence = 0;  ///< counts the calls of a communicator from 1
  uint32_t signature = 0;
  OperationSummary operation;
};

/// What a rank is doing.
struct Snapshot {
  enum class State : uint8_t {
    outside,  ///< not in a call
    inside,   ///< inside a call
    joining,  ///< exchanging set-up information (init, split)
  };
  State state = State::outside;
  uint64_t sequence = 0;           ///< number of the call it began last; 0: none yet
  Rank waiting_for = -1;           ///< rank it waits for; -1: it does not wait
  std::vector<Rank> also;          ///< further ranks it waits for at the same time, at most kAlso
  int64_t waiting_ns = 0;          ///< how long it has waited
  std::optional<CallRecord> call;  ///< call with the requested sequence number, if still recorded
  std::optional<Failure> failure;
};

/// What this process's kernel says of the connections of a communicator, for the report of a stall.
struct NetworkFinding {
  bool lost = false;  ///< data are not acknowledged although they were sent again several times
  std::string words;  ///< connections with data that are not acknowledged; empty: there are none
};

/// Only the thread that carries out the rank's calls may call begin, end, fail_call, exchange, leave and
/// wait_for. Any thread may call fail and all const functions.
class Activity {
 public:
  static constexpr size_t kAlso = 7;  ///< ranks that wait_for() publishes besides the first

  /// The communicator's state, apart from its operations.
  enum class Stage : uint8_t { joining, connected, suspended, aborted };
  /// Facts that do not change once they are set.
  struct About {
    std::string name;    ///< name given by the user; may be empty
    std::string device;  ///< "host memory", or a description of the GPU
    int gpu = -1;        ///< the GPU's number in the process; -1: host memory
    std::string
        pretended;   ///< what the rank pretends to be, and where: "GPU 3 of node0 of FILE"; empty: nothing
    Rank rank = -1;  ///< the communicator's number for the rank; set together with `peers`
    std::shared_ptr<const std::vector<PeerAddress>>
        peers;                ///< addresses by rank; null: not in the ActivityRegistry any more
    Credentials credentials;  ///< of the job, for the listeners of the peers
  };

  explicit Activity(size_t recorded = Recorder::kDefaultCapacity) : recorder_(recorded) {}
  /// now_ns() when the rank entered the registry.
  int64_t since_ns() const { return since_ns_; }

  /// Enters a call. Costs a few plain stores. `signature` 0: not to be compared.
  void begin(uint64_t sequence, uint32_t signature, const OperationSummary& operation) {
    record(sequence, signature, operation, false);
    head_.store(sequence << 2 | static_cast<uint64_t>(Snapshot::State::inside), std::memory_order_release);
  }
  /// Records a further operation of the group whose first one has begun.
  void note(uint64_t sequence, const OperationSummary& operation) { record(sequence, 0, operation, true); }
  /// Leaves the call, whose operations have ended.
  void end() {
    recorder_.end();
    leave();
  }
  /// Leaves the call, whose operations have failed.
  void fail_call() {
    recorder_.stop();
    leave();
  }
  /// Leaves the exchange.
  void leave() {
    head_.store(head_.load(std::memory_order_relaxed) & ~uint64_t{3}, std::memory_order_release);
    if (waiting_for_.load(std::memory_order_relaxed) != -1) waiting_for_.store(-1, std::memory_order_relaxed);
  }
  /// Enters an exchange of set-up information; leave() ends it.
  void exchange() {
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    const uint64_t sequence = head_.load(std::memory_order_relaxed) & ~uint64_t{3};
    head_.store(sequence | static_cast<uint64_t>(Snapshot::State::joining), std::memory_order_release);
  }
  /// Notes that the rank has waited for `peers` for `waited_ns` without progress; publishes the first few
  /// peers. To be repeated at least every 100 ms during the wait, or the rank counts as working.
  /// Watchdog::examine calls it.
  void wait_for(std::span<const Rank> peers, int64_t waited_ns = 0);

  /// Marks the communicator as failed. Only the first failure is kept.
  void fail(Failure failure);
  /// Notes that this process had no memory for something that another rank sent: its rank can only fail.
  void starve() { starved_.store(true, std::memory_order_relaxed); }
  bool starved() const { return starved_.load(std::memory_order_relaxed); }
  Recorder& recorder() { return recorder_; }
  const Recorder& recorder() const { return recorder_; }
  void set_stage(Stage stage) { stage_.store(stage, std::memory_order_relaxed); }
  Stage stage() const { return stage_.load(std::memory_order_relaxed); }
  /// Set the facts of about(). Any thread.
  void tell_about(std::string name, std::string device, int gpu = -1);
  void tell_pretended(std::string what);
  void tell_peers(std::shared_ptr<const std::vector<PeerAddress>> peers, Rank rank = -1,
                  const Credentials& credentials = {});
  About about() const;
  /// What network() calls from now on, on any thread, until it is replaced; null: nothing.
  void tell_network(std::function<NetworkFinding()> look);
  /// The same for links().
  void tell_links(std::function<std::vector<LinkSpeed>()> look);
  /// The speeds of this rank's links, as far as they are measured.
  std::vector<LinkSpeed> links() const;
  /// A few system calls for each connection.
  NetworkFinding network() const;
  /// The same, not older than half a second: all ranks may ask at once.
  NetworkFinding recent_network() const;

  /// The thread that has waited last for other ranks of the communicator; none at first.
  std::thread::id thread() const { return thread_.load(std::memory_order_relaxed); }

  /// One load.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Success while not failed(). Of a failure for which nobody waited where it was found, a rank with a call
  /// under way says so as if it had found it itself; `place`: position in that call, or empty.
  Status status(std::string_view place = {}) const;
  /// The end of a sentence of who finds something now: "; found by `who` in ncclAllReduce(count 8, ...) as
  /// call 3 of the communicator, at `place`".
  std::string found_words(std::string_view who, std::string_view place) const;

  /// The current state, with the call number `sequence` if that is still recorded.
  Snapshot snapshot(uint64_t sequence) const;

 private:
  void record(uint64_t sequence, uint32_t signature, const OperationSummary& operation, bool beside) {
    recorder_.begin(
        {sequence, signature, operation.kind(), pack(operation), operation.count, operation.bytes(), beside});
  }
  std::optional<CallRecord> recall(uint64_t sequence) const;

  std::atomic<uint64_t> head_{0};  ///< sequence << 2 | state
  std::atomic<Rank> waiting_for_{-1};
  std::array<std::atomic<Rank>, kAlso> also_{};  ///< valid while waiting_for_ is not -1; -1: none
  std::atomic<int64_t> waiting_since_ns_{0};
  std::atomic<int64_t> looked_ns_{0};
  std::atomic<std::thread::id> thread_{};
  std::atomic<bool> failed_{false};
  std::atomic<bool> starved_{false};
  std::atomic<Stage> stage_{Stage::joining};
  Recorder recorder_;
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
  About about_;
  const int64_t since_ns_ = now_ns();
  mutable std::mutex network_mutex_;  ///< held during calls, so that tell_network() waits for them
  std::function<NetworkFinding()> network_;
  std::function<std::vector<LinkSpeed>()> links_;
  mutable NetworkFinding seen_network_;  ///< the last answer, and when it was given
  mutable int64_t seen_network_ns_ = 0;
};

/// The end of a sentence about a wait: ", after 0.5 s of waiting for rank 3".
std::string wait_words(Rank waiting_for, int64_t waited_ns);

/// For whom a rank's thread waits, in whatever communicator.
struct ThreadWait {
  uint64_t uid = 0;        ///< the communicator in which it waits
  Rank waiter = -1;        ///< its rank there
  Rank rank = -1;          ///< for whom it waits
  SocketAddress listener;  ///< of the process of `rank`
  int64_t waiting_ns = 0;
  std::string words;  ///< "waits for rank 3 (pid 4 on host a) in communicator 0x5"
};

/// A process's answer about a rank.
struct ActivityReport {
  enum class Presence : uint8_t {
    here,     ///< the rank is in this process; see `snapshot`
    not_yet,  ///< this process has not created that communicator rank
    left,     ///< destroyed or aborted; `snapshot` tells whether after a failure
  };
  Presence presence = Presence::not_yet;
  Snapshot snapshot;
  NetworkFinding network;  ///< only if it was asked for
  std::string elsewhere;   ///< for whom it waits in another communicator, in words; empty: for nobody
  /// Set if it waits here, or if its thread waits in another communicator: then it cannot come here.
  std::optional<ThreadWait> thread_wait = {};
};

/// Thread-safe. Outlives the listener that it answers for.
class ActivityRegistry {
 public:
  /// `recorded`: number of operations that are kept for each communicator.
  explicit ActivityRegistry(size_t recorded = Recorder::kDefaultCapacity);
  /// Waits until what is known of failures was told.
  ~ActivityRegistry();

  /// A rank that is joining a communicator, which has no uid yet.
  struct Joining {
    Rank rank = 0;
    int ranks = 0;
    std::string root;  ///< address of the bootstrap root
    int64_t since_ns = 0;
  };
  /// Registers a joining rank during its lifetime.
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
  /// Calls `each` for every communicator rank of this process; none can leave meanwhile. `each` must not call
  /// this object.
  void for_each(const Each& each) const;

  /// Creates the Activity of rank `rank` of communicator `uid` and answers inquiries about it until leave().
  std::shared_ptr<Activity> enter(uint64_t uid, Rank rank);
  /// `remembered`: inquiries are answered that the rank has left, instead of that it has not come yet.
  void leave(uint64_t uid, Rank rank, bool remembered = true);

  /// The report of rank `rank` of this process, with the call number `sequence`.
  ActivityReport report(uint64_t uid, Rank rank, uint64_t sequence, bool network = false) const;
  /// Marks all ranks of `uid` in this process as failed, also those that enter later: a failure may be
  /// reported before a rank has joined.
  void fail(uint64_t uid, const Failure& failure);
  /// Makes the failures of the communicators `uid` and `twin` of the same ranks common: they are one to
  /// users.
  void pair(uint64_t uid, uint64_t twin);
  /// Takes note that the process of rank `from` of `uid` has the cause to leave it. Where the process to
  /// blame is gone and has a rank of `uid` itself, that has failed.
  void learn(uint64_t uid, Rank from, const Cause& cause);
  /// Why the process of `rank` of `uid` may have left; empty: nothing is known.
  std::optional<Cause> cause_of(uint64_t uid, Rank rank) const;
  /// Waits until other processes were told of the failures so far, at most a second: to be called before the
  /// user learns of a failure, because of which the process may end.
  void settle();

  /// The listener's handler: answers messages made by the functions below. An empty one: something that was
  /// sent to the ranks of `uid` here is lost (Listener::Handler).
  Bytes answer(uint64_t uid, BytesView question);

  /// `network`: the answer has the state of its connections.
  static Bytes question(Rank rank, uint64_t sequence, bool network = false);
  static Bytes notice(const Failure& failure);
  static Bytes cause(Rank from, const Cause& cause);
  /// Asks a process of the same host what its kernel says of the process of `rank`.
  static Bytes process_question(Rank rank);
  /// The answer to that; unknown if it is none.
  static ProcessState read_process_state(BytesView answer);
  /// For a listener to give to answer() when the process of `rank` has ended (Listener::kLastWill).
  static Bytes last_will(Rank rank);
  /// Decodes the answer to question(); empty if the bytes are not one.
  static std::optional<ActivityReport> read_report(BytesView answer);

 private:
  using Key = std::pair<uint64_t, Rank>;
  static constexpr size_t kMostLeft = 1024;
  static constexpr size_t kMostFailed = 64;
  static constexpr size_t kMostCauses = 4096;
  /// A failure of this process's communicators.
  struct Past {
    uint64_t uid;
    Failure failure;
    int64_t when_ns;
    std::shared_ptr<const std::vector<PeerAddress>> peers;  ///< may be null
  };

  std::string elsewhere(uint64_t uid) const;
  std::optional<ThreadWait> wait_of(const Activity& asked) const;
  ProcessState state_here(uint64_t uid, Rank rank) const;
  void starve(uint64_t uid);
  bool fail_one(uint64_t uid, const Failure& failure);
  void forget_twin(uint64_t uid);
  const Past* recent_failure(const Activity& activity, const SocketAddress* member) const;
  void leave_words(uint64_t uid, Rank rank, Activity& activity) const;

  const size_t recorded_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Activity>> activities_;
  std::map<Key, std::shared_ptr<Activity>> left_;
  std::deque<Key> left_by_age_;
  std::deque<Past> failed_;  ///< failures by age, the latest last
  std::map<Key, Cause> causes_;
  std::map<uint64_t, uint64_t> twins_;  ///< both ways
  std::list<Joining> joining_;
  const std::unique_ptr<FailureRelay> relay_;  ///< the last member: its thread uses the others
};

}  // namespace weir::core
