// SPDX-License-Identifier: Apache-2.0
/// The registration of a user's memory, which peers can map while this object lives.
///
/// Construction and destruction are thread-safe; no operation may use the memory during destruction.
/// Tests: tests/api/collectives_test.cc
#pragma once

#include <cstddef>
#include <memory>

#include "src/device/host_memory.h"

namespace weir::core {

class Registration {
 public:
  /// `registry` outlives the registration. Errors: those of MemoryRegistry::adopt, if peers cannot map it.
  static Result<std::unique_ptr<Registration>> make(device::MemoryRegistry& registry, const void* data,
                                                    size_t bytes) {
    Result<device::BlockId> block = registry.adopt(data, bytes);
    if (!block.ok()) return block.status();
    return std::unique_ptr<Registration>(new Registration(registry, *block));
  }
  ~Registration() { registry_.forget(block_); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  Registration(device::MemoryRegistry& registry, device::BlockId block)
      : registry_(registry), block_(block) {}

  device::MemoryRegistry& registry_;
  const device::BlockId block_;
};

}  // namespace weir::core
