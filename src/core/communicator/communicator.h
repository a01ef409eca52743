// SPDX-License-Identifier: Apache-2.0
/// A communicator: one rank's view of a set of ranks that run collectives together.
///
/// Life (Lifecycle has the phases): constructed, it knows nothing of its peers; connect() meets them
/// (bootstrap, transports); run() carries out operations; finalize() waits for what is under way; the
/// destructor frees.
///
/// Threads: one thread at a time may call connect, run, finalize, revoke, suspend and resume, and make
/// children of it. state(), net_counters(), memory_bytes(), abort(), rank() and size() may be called by any
/// thread at any time, also while another is inside connect() or run(), and abort() makes that other thread
/// return soon with an error. Streams carry operations out on threads of their own.
/// Tests: tests/api/life_test.cc, tests/core/deadlines_test.cc
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "src/base/status.h"
#include "src/core/call/config.h"
#include "src/core/call/lifecycle.h"
#include "src/core/call/operation.h"
#include "src/core/call/operation_queue.h"
#include "src/core/call/streams.h"
#include "src/core/communicator/origin.h"
#include "src/core/execution/window.h"
#include "transports/transports.h"

namespace weir::core {

class Runtime;
struct Resources;
struct SuspendedState;

class Communicator {
 public:
  /// Not connected. `runtime` outlives it; a parent in `origin` lives until connect() has ended.
  Communicator(Runtime& runtime, Origin origin, Config config);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Meets the other ranks. Names the culprit when one of them is missing, dead, stopped or different. Not
  /// blocking: in_progress, and state() tells the rest.
  Status connect();
  /// Carries out operations that belong together (one call, or one group): collectives in the order given,
  /// sends and receives side by side. At no stream, and blocking: returns when they are done. On a host
  /// stream, or not blocking: queues them and returns; on a stream it waits first while more is queued than
  /// Options::admitted_* allow. On a stream of a GPU: success once they are queued there; they begin when the
  /// stream comes to them. REQUIRES for that: gpus() is not null.
  Status run(std::span<const Operation> operations, const StreamPlace& place = {});
  /// Waits until everything queued is done; not blocking: in_progress while something is.
  Status finalize();
  /// Ends whatever is under way, here and soon, with an error. Does not wait. `why`: the error that stays,
  /// where it had none; success: that of the first operation that ends.
  void abort(const Status& why = {});
  /// Ends whatever is under way with an error, here and on the other ranks, which are told; from then on it
  /// is only good for children. Takes 200 ms where one of them cannot be told. Waits until nothing is under
  /// way. invalid_usage where it never met its peers.
  Status revoke();
  /// Waits until nothing is under way, then gives back memory, channels and connections, but not what ranks
  /// know of each other. From then on resume(), state(), abort(), finalize() and the destructor are allowed;
  /// all else gives invalid_usage. Collective; not blocking: in_progress, and state() tells the rest.
  /// invalid_usage where it is suspended, or where a rank uses a GPU.
  Status suspend();
  /// Makes again what suspend() gave back. Collective, likewise. invalid_usage where it is not suspended.
  Status resume();

  /// Success, in_progress, or the first error. An error stays. Success once it was revoked on this rank, or
  /// aborted for a child. in_progress also while a child is set up in the background.
  Status state() const;
  /// What its transports have carried over networks so far, calibration included, over all of them. Does not
  /// wait for operations. An error that says why, where it has not met its peers (yet).
  Result<NetCounters> net_counters() const;
  /// Bytes of memory that it holds for this rank, or gave back when it was suspended: pages in use of the
  /// memory that ranks of a host share, and what it took of its GPU.
  uint64_t memory_bytes() const;

  const Lifecycle& lifecycle() const { return lifecycle_; }
  /// What it has while it is connected; null: it is not. By the thread that runs operations.
  Resources* resources() const { return resources_.get(); }
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
  Status connect_now();
  void become_ready();
  Status suspend_now();
  Status resume_now();
  /// Enters the phase and takes the step: now, or where it is not blocking in the background.
  Status pass_through(Lifecycle::Phase phase, Status (Communicator::*step)());

  Runtime& runtime_;
  const Origin origin_;
  const Config config_;
  device::Gpu* const gpu_;    ///< null: none
  device::Gpus* const gpus_;  ///< null: none
  int ranks_ = 0;             ///< 0 until it has joined, unless its origin says it
  Rank rank_ = -1;
  Lifecycle lifecycle_;
  OperationQueue queue_;
  const std::shared_ptr<WindowSpace> windows_ = std::make_shared<WindowSpace>();
  mutable std::mutex mutex_;  ///< guards the two pointers below against threads that do not run operations
  std::unique_ptr<Resources> resources_;
  std::unique_ptr<SuspendedState> suspended_;  ///< null: it is not suspended
};

/// Why it has no resources: its error, or the phase that it is in.
Status why_not_connected(const Communicator& communicator);

}  // namespace weir::core
