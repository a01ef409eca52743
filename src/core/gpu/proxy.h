// SPDX-License-Identifier: Apache-2.0
/// Carries messages of kernels between hosts: a thread of the communicator that takes them from the rings of
/// its GPU (src/exec/gpu/proxy_rings.h) to transport channels, and from these to the rings.
///
/// Channels are opened when a call first wants their rings. The thread gives its core away between looks
/// while something moves, naps when nothing has for long, and sleeps while nothing is under way and nobody
/// waits for what kernels have sent. After trouble it does nothing any more. A channel that the peer has
/// closed is no trouble as long as nobody waits for its messages, or for room where it has taken none.
///
/// Thread-safe.
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
  /// All outlive the proxy. Nobody else uses the transports of the routes meanwhile.
  struct Dependencies {
    Rank self = 0;
    device::Gpu* gpu = nullptr;
    exec::gpu::ProxyRings* rings = nullptr;
    const Routes* routes = nullptr;
    const std::atomic<bool>* aborted = nullptr;
    std::function<bool()> busy;  ///< whether calls are under way; any thread
  };
  /// A channel that broke, or could not be opened.
  struct Trouble {
    Rank peer = -1;
    Status status;
  };

  explicit Proxy(Dependencies dependencies);
  /// Carries away what kernels have sent, for a while, unless aborted.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Calls are under way.
  void wake();
  /// A graph may run calls at any time: from now on it never sleeps for long.
  void expect_graphs();
  /// `waited_for`: a rank for which a kernel waits; -1: nobody.
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
  std::vector<Trouble> closed_;  ///< of ends that await the peer
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<ProxiedEnd>> ends_;  ///< the thread's
  std::thread thread_;
};

}  // namespace weir::core
