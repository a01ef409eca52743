// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/last_will.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "src/base/exception.h"

namespace weir::core {

/// Those that a process has left. A forked child has its own, and does not touch its parent's.
struct LastWill::Wills {
  const pid_t pid = getpid();
  Wills* const parents;
  std::mutex mutex;
  std::set<LastWill*> left;

  explicit Wills(Wills* before) : parents(before) {}
};

/// Never destroyed, as threads may outlive static destructors.
LastWill::Wills& LastWill::of_this_process() {
  static std::atomic<Wills*> current{nullptr};
  for (;;) {
    Wills* now = current.load();
    if (now != nullptr && now->pid == getpid()) return *now;
    auto* const own = new Wills(now);
    if (current.compare_exchange_strong(now, own)) return *own;
    delete own;
  }
}

LastWill::LastWill(MessageConnections connections, const SocketAddress& watcher, const DeliveryKey& key)
    : connections_(std::move(connections)), watcher_(watcher), key_(key) {
  connections_.close_others(watcher_);
}

LastWill::~LastWill() {
  (void)guarded([this] {
    Wills& own = of_this_process();
    const std::lock_guard lock(own.mutex);
    if (own.left.erase(this) > 0) take_back();
    return Status();
  });
}

Status LastWill::leave(BytesView question, const Deadline& deadline) {
  WEIR_TRY(connections_.send(watcher_, key_, question, deadline));
  // Only now: what encrypts the connection ends after what is registered here.
  static const int kRegistered = std::atexit(take_back_all);
  (void)kRegistered;
  Wills& own = of_this_process();
  const std::lock_guard lock(own.mutex);
  own.left.insert(this);
  return {};
}

void LastWill::take_back_all() {
  (void)guarded([] {
    Wills& own = of_this_process();
    const std::lock_guard lock(own.mutex);
    for (LastWill* const will : own.left) will->take_back();
    own.left.clear();
    return Status();
  });
}

void LastWill::take_back() { connections_.send_if_open(watcher_, key_, {}); }

}  // namespace weir::core
