// SPDX-License-Identifier: Apache-2.0
/// Monitors calls that wait on a GPU, for which no host thread waits: detects dead and slow peers and
/// mismatched calls, and ends queued calls with an error that names the culprit.
///
/// Runs its own thread, which sleeps while no call is queued. The thread updates the rank's Activity to the
/// call that the GPU is running.
///
/// Thread-safe.
/// Tests: tests/core/device_collectives_test.cc, tests/core/device_processes_test.cc
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "src/core/bootstrap/bootstrap.h"
#include "src/core/gpu/proxy.h"
#include "src/device/gpu.h"
#include "src/exec/gpu/queued.h"

namespace weir::core {

class DeviceMonitor {
 public:
  /// What the monitor works with; all outlive it.
  struct Dependencies {
    exec::gpu::Queued* executor = nullptr;
    const Proxy* proxy = nullptr;  ///< null: all ranks are on one host
    Bootstrap* bootstrap = nullptr;
    device::GpuFlag done;  ///< the number of the last call that is done
    const std::atomic<bool>* aborted = nullptr;
    std::function<void(const Status&)> fail;
  };
  /// An operation, and the number of the call that it is part of.
  struct Entry {
    uint32_t call = 0;
    CallRecord record;
  };

  explicit DeviceMonitor(Dependencies dependencies);
  /// Starts the thread. Errors: those of start_thread.
  Status start();
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  /// Adds a queued operation.
  void add(const Entry& entry);
  /// Notes that a graph may run calls at any time: from now on the thread never sleeps for long.
  void add_graph();

 private:
  void work();
  void look();
  void follow_calls();
  void follow_wait(const exec::gpu::Look& seen);
  Status mismatch(const exec::gpu::Look& seen) const;
  void fail(const Status& status);

  const Dependencies dependencies_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> added_;
  bool graphs_ = false;
  bool stop_ = false;
  // Used by the thread only.
  std::deque<Entry> under_way_;
  bool begun_ = false;  ///< the activity shows the first of them
  bool failed_ = false;
  Rank peer_ = -1;        ///< peer that a kernel waits for; -1: none
  int64_t since_ns_ = 0;  ///< begin of the wait
  int64_t seen_ns_ = 0;   ///< time at which the wait was seen last
  std::thread thread_;
};

}  // namespace weir::core
