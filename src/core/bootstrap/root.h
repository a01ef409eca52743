// SPDX-License-Identifier: Apache-2.0
/// Where ranks gather before they know each other.
///
/// A root is a thread in the process that made the unique id (or in rank 0's, for a fixed id). It collects
/// the hello of every rank and then sends each the listeners of the ranks it will talk to. It keeps all
/// connections open until every rank says that it knows the others; meanwhile it asks each rank once a second
/// for a sign of life and gives one. Whatever goes wrong is told to every rank at once, in words that name
/// the culprit: another version, another number of ranks, a rank that came twice, a process that died or
/// stopped, ranks that never came. Then it ends by itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/core/call/unique_id.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/net/ports.h"
#include "weir/status.h"

namespace weir::core {

class Root;

/// The roots of a process. Thread-safe; the destructor ends those that still run.
class Roots {
 public:
  Roots();
  ~Roots();

  /// Starts a root at a free port, of those in `ports`, of `interface` (its port does not matter) and returns
  /// the id that leads to it. A root that nobody comes to waits for ever; the time for missing ranks begins
  /// with the first hello.
  Result<UniqueId> make_id(const SocketAddress& interface, const Timeouts& timeouts,
                           const PortRange& ports = {});
  /// The id for an address that NCCL_COMM_ID gives; starts nothing.
  static UniqueId fixed_id(const SocketAddress& address) { return {address, 0, true}; }
  /// Starts the root of a fixed id, after the one before it has ended. invalid_usage if the port is in use.
  Status start_fixed(const UniqueId& id, const Timeouts& timeouts, const std::atomic<bool>* abort);
  /// Lets go of the roots that have ended. Does not wait for others.
  void tidy();
  /// Stops the threads of all roots where they wait, and lets none start, until resume(): what they allocate
  /// is in a consistent state then, for a child that is forked. Both are called by the same thread.
  void pause();
  void resume();

 private:
  void drop_finished();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Root>> roots_;
};

}  // namespace weir::core
