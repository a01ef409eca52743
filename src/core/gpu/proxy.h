// SPDX-License-Identifier: Apache-2.0
/// Carries messages of kernels between hosts: a thread of the communicator that moves them from the rings of
/// its GPU (src/exec/gpu/proxy_rings.h) to transport channels, and from these to the rings.
///
/// Channels are opened when a call first uses their rings. The thread polls, with sched_yield() between
/// polls, while messages move; it polls rarely after a while without progress, and sleeps while no call is in
/// flight and all messages are sent. After an error (Trouble) it carries nothing more. A channel that the
/// peer has closed is an error only if a kernel waits for its messages, or for a free slot.
///
/// Thread-safe.
/// Tests: tests/core/device_hosts_test.cc
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "src/core/gpu/proxied_end.h"

namespace weir::core {

class Proxy {
 public:
  /// What the proxy works with; all outlive it. Only the proxy uses the routes' transports meanwhile.
  struct Dependencies {
    Rank self = 0;
    device::Gpu* gpu = nullptr;
    exec::gpu::ProxyRings* rings = nullptr;
    const Routes* routes = nullptr;
    const std::atomic<bool>* aborted = nullptr;
    std::function<bool()> busy;  ///< whether calls are in flight; callable by any thread
  };
  /// A channel that broke, or could not be opened; peer -1: the proxy itself cannot go on.
  struct Trouble {
    Rank peer = -1;
    Status status;
  };

  explicit Proxy(Dependencies dependencies);
  /// Starts the thread. Errors: those of start_thread.
  Status start();
  /// Carries the messages that kernels have sent for a limited time, unless aborted.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Wakes the thread: calls are in flight.
  void wake();
  /// Notes that a graph may run calls at any time: from now on the thread never sleeps for long.
  void expect_graphs();
  /// The error, if any. `waited_for`: a rank for which a kernel waits; -1: none.
  std::optional<Trouble> trouble(Rank waited_for = -1) const;

 private:
  void work();
  bool carry_all();
  bool drained() const;
  bool rest(int64_t idle_ns);
  void give_up(size_t end, const Status& why);

  const Dependencies dependencies_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool graphs_ = false;
  std::optional<Trouble> trouble_;
  std::vector<Trouble> closed_;  ///< closed channels whose ends await the peer
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<ProxiedEnd>> ends_;  ///< used by the thread only
  std::thread thread_;
};

}  // namespace weir::core
