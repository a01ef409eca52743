// SPDX-License-Identifier: Apache-2.0
/// Memory that RDMA devices read and write: pages of this process, and what the transport was lent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "src/drivers/verbs.h"
#include "transports/slot_memory.h"
#include "weir/status.h"

namespace weir::verbs {

/// Kept out of forked children: else the kernel would move the parent's pages away from under the devices
/// when it writes to them.
class Memory {
 public:
  static Result<Memory> allocate(size_t bytes);

  std::byte* begin() const { return pages_.get(); }
  /// Registered with the device once, whoever asks how often.
  Result<const drivers::VerbsRegion*> enroll(drivers::VerbsDevice& device);

 private:
  struct Unmap {
    size_t bytes = 0;
    void operator()(std::byte* pages) const;
  };
  explicit Memory(std::unique_ptr<std::byte, Unmap> pages) : pages_(std::move(pages)) {}

  std::unique_ptr<std::byte, Unmap> pages_;
  std::map<drivers::VerbsDevice*, std::unique_ptr<drivers::VerbsRegion>>
      regions_;  // forgotten before the pages go
};

/// Memory of a GPU, registered with all devices that may come to use it.
class LentMemory {
 public:
  /// By its file, or else by its addresses. `memory` outlives it.
  static Result<LentMemory> enroll(SlotMemory& memory, std::span<drivers::VerbsDevice* const> devices);

  bool is(const SlotMemory& memory) const { return memory_ == &memory; }
  /// Whether all these bytes are in it.
  bool has(const std::byte* begin, size_t bytes) const;
  /// Null: of another device.
  const drivers::VerbsRegion* region(drivers::VerbsDevice& device) const;

 private:
  explicit LentMemory(SlotMemory& memory) : memory_(&memory) {}

  SlotMemory* memory_;
  std::map<drivers::VerbsDevice*, std::unique_ptr<drivers::VerbsRegion>> regions_;
};

}  // namespace weir::verbs
