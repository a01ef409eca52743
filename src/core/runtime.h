/// What all communicators of a process share: options, the door, the allocator. One object, made by src/api on
/// first use and never destroyed (threads of applications may outlive static destructors).
///
/// Thread-safe.
#pragma once

#include <memory>
#include <mutex>

#include "src/base/door.h"
#include "src/base/options.h"
#include "src/device/host_memory.h"
#include "weir/status.h"

namespace weir::core {

class Watch;  // the registry of communicators that answers questions at the door (watchdog.h)

class Runtime {
 public:
  explicit Runtime(Options options);
  ~Runtime();

  const Options& options() const { return options_; }
  device::MemoryRegistry& memory() { return memory_; }
  /// The door, opened on first use and closed when the last holder lets go.
  Result<std::shared_ptr<Door>> door();

 private:
  Options options_;
  device::MemoryRegistry memory_;
  std::mutex mutex_;
  std::weak_ptr<Door> door_;
};

}  // namespace weir::core
