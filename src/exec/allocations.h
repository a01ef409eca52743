// SPDX-License-Identifier: Apache-2.0
/// User buffers that peers can address: allocations of ncclMemAlloc and registered memory. They are published
/// to peers in slots of the exchange area, and peers map them at first use.
///
/// Not thread-safe; one per communicator rank. post() and resolve() do not allocate or make system calls for
/// allocations that they have handled before.
/// Tests: tests/exec/shm_collectives_test.cc
#pragma once

#include <array>
#include <vector>

#include "src/base/status.h"
#include "src/base/types.h"
#include "src/device/host_memory.h"
#include "src/device/shared_memory.h"
#include "src/exec/exchange_area.h"

namespace weir::exec {

class Allocations {
 public:
  Allocations(Rank self, device::MemoryRegistry& registry, std::vector<ExchangeArea> exchange_areas);

  /// How peers find [data, data + bytes). BufferPosition::slot is -1 if they cannot: the memory is in no such
  /// allocation, or its allocation needs the slot that `beside`, posted for the same operation, uses.
  BufferPosition post(const void* data, size_t bytes, const BufferPosition& beside = {});
  /// A number that changes when memory is allocated or freed; earlier results of post() may be invalid then.
  uint64_t version() const { return registry_.version(); }
  /// The address in this process of the buffer that `peer` posted.
  Result<std::byte*> resolve(Rank peer, const BufferPosition& posted);

 private:
  struct Mapped {
    uint32_t generation = 0;
    device::SharedMemory memory;
  };

  const Rank self_;
  device::MemoryRegistry& registry_;
  const std::vector<ExchangeArea> exchange_areas_;
  std::array<device::BlockId, ExchangeArea::kAllocations> own_{};  ///< the block published in each slot
  std::array<uint32_t, ExchangeArea::kAllocations> generations_{};
  std::vector<std::array<Mapped, ExchangeArea::kAllocations>> mapped_;  ///< mapped allocations, by peer
};

}  // namespace weir::exec
