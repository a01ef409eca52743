// SPDX-License-Identifier: Apache-2.0
/// A communicator: one rank's view of a set of ranks that run collectives together.
///
/// Life: the constructor contacts no peer; connect() sets up the connections (bootstrap, transports); run()
/// carries out operations; finalize() waits for operations in flight; the destructor frees all resources.
///
/// Threads: one thread at a time may call connect, run, finalize and split from it. state(), net_counters(),
/// abort(), rank() and size() may be called from any thread at any time, even while another thread is inside
/// connect() or run(); abort() makes that thread return soon with an error. Streams carry operations out on
/// their own threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/core/call/config.h"
#include "src/core/call/operation.h"
#include "src/core/call/rank_place.h"
#include "src/core/call/streams.h"
#include "src/core/call/unique_id.h"
#include "src/core/communicator/admission.h"
#include "src/core/communicator/ticket_order.h"
#include "src/core/execution/window.h"
#include "transports/transports.h"
#include "weir/status.h"

namespace weir {
class Listener;
}

namespace weir::core {

class Bootstrap;
enum class Presence;
class DeviceCollectives;
class Runtime;
class Staged;
struct Resources;
struct StagedLaunch;

class Communicator {
 public:
  /// A communicator of `ranks` ranks, not connected. `runtime` must outlive it.
  Communicator(Runtime& runtime, const UniqueId& id, int ranks, Rank rank, Config config);
  /// The part of a split that the parent's rank will belong to, not connected; connecting is collective over
  /// the parent, which must live until then. color < 0: takes part in the split, and ends with size() 0.
  Communicator(Communicator& parent, int color, int key, Config config);
  /// The parent without the ranks `excluded` (sorted, without this one), not connected; connecting is
  /// collective over the others, and the parent must live until then. `after_failure`: what is under way on
  /// the parent, which may have failed, ends with an error first; else connecting waits until it is done.
  Communicator(Communicator& parent, std::vector<Rank> excluded, bool after_failure, Config config);
  /// The parent with further ranks, not connected: its ranks keep theirs, newcomers (made of `id` as any
  /// communicator's ranks) have those up to `ranks`. Connecting is collective over all of them, and the
  /// parent must live until then. `id`: of one of the parent's ranks, the coordinator; none on the others.
  Communicator(Communicator& parent, int ranks, std::optional<UniqueId> id, Config config);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Meets the other ranks. Names the culprit when one of them is missing, dead, stopped or different. Not
  /// blocking: in_progress, and state() tells the rest.
  Status connect();
  /// Carries out operations that belong together (one call, or one group): collectives in the order given,
  /// sends and receives side by side. With a stream, or not blocking: queues them and returns; with a stream
  /// it waits first while more is queued than Options::admitted_* allow. Else returns when done.
  Status run(std::span<const Operation> operations, device::HostStream* stream);
  /// The same at any place. On a stream of a GPU: success once they are queued there, blocking or not; they
  /// begin when the stream comes to them. REQUIRES for that: gpus() is not null.
  Status run(std::span<const Operation> operations, const StreamPlace& place);
  /// Waits until everything queued is done; not blocking: in_progress while something is.
  Status finalize();
  /// Ends whatever is under way, here and soon, with an error. Does not wait.
  void abort();

  /// Ends whatever is under way with an error, here and on the other ranks, which are told; from then on it
  /// is only good for children. Takes 200 ms where one of them cannot be told. By the thread that runs
  /// operations; waits until nothing is under way. invalid_usage where it never met its peers.
  Status revoke();
  bool revoked() const { return revoked_.load(); }

  /// Waits until nothing is under way, then gives back memory, channels and connections, but not what ranks
  /// know of each other. From then on resume(), state(), abort(), finalize() and the destructor are allowed;
  /// all else gives invalid_usage. Collective; not blocking: in_progress, and state() tells the rest.
  /// invalid_usage where it is suspended.
  Status suspend();
  /// Makes again what suspend() gave back. Collective, likewise. invalid_usage where it is not suspended.
  Status resume();
  bool suspended() const { return suspended_.load(); }
  /// Bytes of memory that it holds for this rank, or gave back when it was suspended: pages in use of the
  /// memory that ranks of a host share, and what it took of its GPU. Any thread.
  uint64_t memory_bytes() const;

  /// Success, in_progress, or the first error. An error stays.
  Status state() const;
  /// What its transports have carried over networks so far, calibration included, over all of them. Does not
  /// wait for operations. An error that says why, where it has not met its peers (yet).
  Result<NetCounters> net_counters() const;
  /// How each rank looks from here, by rank (Bootstrap::presences). By the thread that runs operations. An
  /// error that says why, where it never met its peers.
  Result<std::vector<Presence>> presences() const;
  /// Seconds that operations of one call or group are predicted to take, by the costs that choose plans
  /// (algorithms/cost): collectives one after the other, sends and receives side by side, at the place of the
  /// first. By the thread that runs operations. Errors: as run(); invalid_usage where a rank uses a GPU,
  /// whose costs are not known.
  Result<double> predict(std::span<const Operation> operations) const;
  /// How long a rank that runs may keep the others waiting in a call, from now on; 0: for ever. By the thread
  /// that runs operations. An error that says why, where it never met its peers.
  Status set_stuck_timeout(int64_t ms);
  /// Where the ranks are, by rank. An error that says why, where it never met its peers.
  Result<std::vector<RankPlace>> places() const;
  /// Memory of this rank that others write. Stays while it is suspended.
  WindowSpace& windows() { return *windows_; }
  /// The GPUs of this process; null where it used none when the communicator was made: then all buffers are
  /// host memory.
  device::Gpus* gpus() const { return gpus_; }
  /// The one that it works with; null as above.
  device::Gpu* gpu() const { return gpu_; }
  Rank rank() const { return rank_; }
  int size() const { return ranks_; }
  const Config& config() const { return config_; }

 private:
  friend class GroupLaunch;

  struct SplitFrom {
    Communicator* parent;
    int color;
    int key;
  };
  struct ShrunkFrom {
    Communicator* parent;
    std::vector<Rank> excluded;
    bool after_failure;
  };
  struct GrownFrom {
    Communicator* parent;
    std::optional<UniqueId> id;
  };
  /// Operations of one communicator and their place in its order.
  struct Share {
    Communicator* communicator;
    std::vector<Operation> operations;
    uint64_t ticket;
    Admission::Load load;  ///< that was admitted
    bool background;       ///< state() is in_progress until it is done
  };
  /// What was begun on streams and has to end there.
  struct Begun {
    std::shared_ptr<StagedLaunch> launch;
    std::vector<StreamPlace> places;
    std::shared_ptr<device::HostEvent> done;  ///< null: all places are on a GPU
  };

  Status connect_now();
  Status join_root(const UniqueId& id);
  Status join_split();
  Status join_shrunk();
  Status join_grown();
  Status suspend_now();
  Status resume_now();
  /// Why it has no connections now.
  Status why_not_connected() const;
  /// Does it now, or where it is not blocking in the background.
  Status run_step_in_order(Status (Communicator::*step)(), const char* doing);
  Communicator* parent() const;
  /// Among which the ranks of a split find each other; null: the parent's own will do.
  Result<std::unique_ptr<Bootstrap>> fresh_meeting(Communicator& parent);
  /// Until nothing is queued or under way.
  void wait_idle();
  Status build(std::shared_ptr<Listener> listener, std::unique_ptr<Bootstrap> bootstrap);
  Status usable() const;
  Status run_in_order(std::span<const Operation> operations, device::HostStream* stream);
  /// Carries shares of several communicators out together, each in its turn, on this thread.
  static Status carry_out(std::span<Share> shares);
  /// What goes to a stream, with its place in the order; waits until it is admitted.
  Share queue(std::vector<Operation> operations);
  /// Whether these operations go through staging, which Staged tells more about.
  bool is_staged(std::span<const Operation> operations, std::span<const StreamPlace> places) const;
  Result<Begun> begin_staged(std::vector<Operation> operations, std::vector<StreamPlace> places);
  /// Queues a step of the call; whether there is another one.
  bool follow_staged(const Begun& begun);
  Status end_staged(const Begun& begun);
  Status run_staged(std::span<const Operation> operations, const StreamPlace& place);
  void submit_staged(std::shared_ptr<StagedLaunch> launch, const Admission::Load& load);
  Status carry_out_staged(StagedLaunch& launch, uint64_t ticket, const Admission::Load& load);
  std::unique_ptr<Staged> make_staged();
  /// Meets the others on their GPUs, where all are on some. Collective.
  Status make_device_collectives();
  void end_device_collectives();
  Status run_on_device(std::span<const Operation> operations, const StreamPlace& place);
  /// Goes by kernels or by operations of streams.
  bool runs_on_device(const Operation& operation) const;
  Admission::Load admit(std::span<const Operation> operations);
  Result<device::HostStream*> background();
  bool all_done() const;
  void set_state(const Status& status);
  void log_counters() const;

  Runtime& runtime_;
  device::Gpu* const gpu_;    ///< null: none
  device::Gpus* const gpus_;  ///< null: as gpu_
  const UniqueId id_;
  const std::optional<SplitFrom> split_;
  const std::optional<ShrunkFrom> shrunk_;
  const std::optional<GrownFrom> grown_;
  int ranks_;
  Rank rank_;
  const Config config_;
  uint32_t splits_ = 0;  ///< begun from this communicator; the same number on all its ranks
  bool queued_ = false;  ///< something was queued once: from then on every operation waits for its turn
  std::atomic<bool> aborted_{false};
  std::atomic<bool> revoked_{false};
  std::atomic<bool> suspending_{false};
  std::atomic<bool> suspended_{false};
  uint64_t suspended_bytes_ = 0;  ///< given back; guarded by mutex_
  uint32_t resumed_ = 0;          ///< so often
  std::atomic<bool> finalizing_{false};
  std::atomic<int64_t> in_background_{0};                         ///< calls
  std::atomic<int> code_{static_cast<int>(Code::invalid_usage)};  ///< of state_, for the quick look of run()
  mutable std::mutex mutex_;
  Status state_;
  TicketOrder order_;
  Admission admission_;
  std::shared_ptr<Listener> resting_listener_;  ///< of a suspended one, which has no resources_; else null
  const std::shared_ptr<WindowSpace> windows_ = std::make_shared<WindowSpace>();
  std::unique_ptr<Bootstrap> resting_;  ///< likewise
  std::unique_ptr<Resources> resources_;
  std::unique_ptr<Staged> staged_;                         ///< null where no rank uses a GPU
  std::unique_ptr<DeviceCollectives> device_collectives_;  ///< null where collectives do not go by kernels
  std::unique_ptr<device::HostStream> background_;
};

/// The communicator and stream of an operation in a group.
struct Target {
  Communicator* communicator = nullptr;
  StreamPlace place;

  bool operator==(const Target&) const = default;
};

/// Carries out the operations of one thread's group on one or several communicators of this process;
/// targets[i] is the target of operations[i]. The communicators may depend on each other, so they advance
/// together. Streams as in Communicator::run. REQUIRES: at least one operation.
Status launch_group(std::span<const Target> targets, std::span<const Operation> operations);

}  // namespace weir::core
