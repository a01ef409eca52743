// SPDX-License-Identifier: Apache-2.0
/// Buffers of users that peers can address: allocations made by ncclMemAlloc, told to peers slot by slot
/// through the exchange area, and mapped by them on first use.
///
/// Not thread-safe; one per communicator rank. post() and resolve() do not allocate or enter the kernel for
/// allocations they have met before.
#pragma once

#include <array>
#include <vector>

#include "src/base/types.h"
#include "src/device/host_memory.h"
#include "src/device/shared_memory.h"
#include "src/exec/exchange_area.h"
#include "weir/status.h"

namespace weir::exec {

class Allocations {
 public:
  Allocations(Rank self, device::MemoryRegistry& registry, std::vector<ExchangeArea> exchange_areas);

  /// How peers find [data, data + bytes). Posted::slot is -1 where they cannot: memory from elsewhere, or an
  /// allocation that would take the slot that `beside`, posted for the same operation, needs.
  Posted post(const void* data, size_t bytes, const Posted& beside = {});
  /// Changes when memory is allocated or freed: what post() said before may be wrong then.
  uint64_t version() const { return registry_.version(); }
  /// Where what `peer` posted lies in this address space.
  Result<std::byte*> resolve(Rank peer, const Posted& posted);

 private:
  struct Mapped {
    uint32_t generation = 0;
    device::SharedMemory memory;
  };

  const Rank self_;
  device::MemoryRegistry& registry_;
  const std::vector<ExchangeArea> exchange_areas_;
  std::array<device::BlockId, ExchangeArea::kAllocations> own_{};  ///< told in each slot
  std::array<uint32_t, ExchangeArea::kAllocations> generations_{};
  std::vector<std::array<Mapped, ExchangeArea::kAllocations>> mapped_;  ///< by peer
};

}  // namespace weir::exec
