// SPDX-License-Identifier: Apache-2.0
/// The bootstrap root, to which all ranks connect before they know each other.
///
/// A root is a thread in the process that made the unique id (or in rank 0's process, for a fixed id). It
/// collects the hello of every rank and then sends each rank the listeners of the ranks it will send to. It
/// keeps all connections open until every rank reports that it knows the others; meanwhile root and ranks
/// exchange a heartbeat every second. On a failure it sends every rank at once an error that names the
/// culprit: another version, another number of ranks, a rank that joined twice, a process that died or
/// stopped, ranks that never joined. Then the thread ends.
/// Tests: tests/core/bootstrap_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/host.h"
#include "src/base/status.h"
#include "src/core/call/unique_id.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/net/ports.h"
#include "src/net/tls/credentials.h"

namespace weir::core {

class Root;

/// The roots of a process. Thread-safe; the destructor ends those that still run.
class Roots {
 public:
  /// `host`: host_identity() of this process, with NCCL_HOSTID.
  explicit Roots(uint64_t host = host_identity(""));
  ~Roots();

  /// Starts a root at a free port out of `ports` on `interface` (whose port is ignored) and returns the id
  /// that holds its address, as it is `advertised`, and a new secret. `encryption`: of the sockets of the
  /// job. The timeout for missing ranks starts with the first hello; until then the root waits without limit.
  Result<UniqueId> make_id(const SocketAddress& interface, const Timeouts& timeouts,
                           const PortRange& ports = {}, const TlsSettings& encryption = {},
                           const Advertisement& advertised = {});
  /// The id for an address from NCCL_COMM_ID; starts nothing.
  static UniqueId fixed_id(const SocketAddress& address, const Secret& secret = {}) {
    return {address, 0, true, secret};
  }
  /// Starts the root of a fixed id, after the one before it has ended. invalid_usage if the port is in use.
  Status start_fixed(const UniqueId& id, const Credentials& credentials, const Timeouts& timeouts,
                     const std::atomic<bool>* abort);
  /// If the root of an id is here, whose rank of this process has declined: waits until the others know, for
  /// kHoldMs at most. The process may end as soon as its rank has failed, and late ranks would find no root.
  void wait_until_told(const UniqueId& id, const std::atomic<bool>* abort);
  /// Frees the roots that have ended. Does not wait for others.
  void tidy();
  /// Holds the threads of all roots where they wait, and starts none, until resume(): their memory is then
  /// consistent for a forked child. The same thread must call both.
  void pause();
  void resume();

 private:
  static constexpr int64_t kHoldMs = 500;

  void drop_finished();

  const uint64_t host_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Root>> roots_;
};

}  // namespace weir::core
