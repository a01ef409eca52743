// SPDX-License-Identifier: Apache-2.0
/// Memory that RDMA devices read and write: pages of this process, and memory that was registered with
/// SlotRegistrar::register_slots.
/// Tests: tests/transports/verbs_registered_slots_test.cc, tests/transports/verbs_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "src/base/status.h"
#include "src/drivers/verbs.h"
#include "transports/slot_memory.h"

namespace weir::verbs {

/// Not inherited by forked children: otherwise copy-on-write would give the parent new pages that the devices
/// do not use.
class Memory {
 public:
  static Result<Memory> allocate(size_t bytes);

  std::byte* begin() const { return pages_.get(); }
  /// Registers the memory with the device; repeated calls return the same region.
  Result<const drivers::VerbsRegion*> enroll(drivers::VerbsDevice& device);

 private:
  struct Unmap {
    size_t bytes = 0;
    void operator()(std::byte* pages) const;
  };
  explicit Memory(std::unique_ptr<std::byte, Unmap> pages) : pages_(std::move(pages)) {}

  std::unique_ptr<std::byte, Unmap> pages_;
  std::map<drivers::VerbsDevice*, std::unique_ptr<drivers::VerbsRegion>>
      regions_;  // destroyed before the pages are unmapped
};

/// Memory of a GPU, registered with all devices that may use it.
class RegisteredMemory {
 public:
  /// Registers by file descriptor, or else by address. `memory` outlives it.
  static Result<RegisteredMemory> enroll(SlotMemory& memory, std::span<drivers::VerbsDevice* const> devices);

  bool is(const SlotMemory& memory) const { return memory_ == &memory; }
  /// Whether it contains all these bytes.
  bool has(const std::byte* begin, size_t bytes) const;
  /// Null for a device with which it is not registered.
  const drivers::VerbsRegion* region(drivers::VerbsDevice& device) const;

 private:
  explicit RegisteredMemory(SlotMemory& memory) : memory_(&memory) {}

  SlotMemory* memory_;
  std::map<drivers::VerbsDevice*, std::unique_ptr<drivers::VerbsRegion>> regions_;
};

}  // namespace weir::verbs
