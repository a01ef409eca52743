// SPDX-License-Identifier: Apache-2.0
/// Looks after calls that wait on a GPU, where nobody of the host does: notices dead and slow peers and calls
/// that do not match, and ends what is queued with the error that says who is to blame.
///
/// A thread of its own, which sleeps while nothing is queued. It is what writes the rank's Activity: the call
/// that the GPU is at.
///
/// Thread-safe.
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
  /// All outlive the monitor.
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
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  /// It was queued.
  void add(const Entry& entry);
  /// A graph may run calls at any time: from now on it never sleeps for long.
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
  // The thread's.
  std::deque<Entry> under_way_;
  bool begun_ = false;  ///< the activity says the first of them
  bool failed_ = false;
  Rank peer_ = -1;        ///< that is waited for
  int64_t since_ns_ = 0;  ///< since when
  int64_t seen_ns_ = 0;   ///< seen last
  std::thread thread_;
};

}  // namespace weir::core
