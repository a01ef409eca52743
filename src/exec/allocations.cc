// SPDX-License-Identifier: Apache-2.0

#include "src/exec/allocations.h"

#include <cstring>

namespace weir::exec {

static_assert(sizeof(device::ShareHandle) <= sizeof(AllocationSlot::handle));

Allocations::Allocations(Rank self, device::MemoryRegistry& registry,
                         std::vector<ExchangeArea> exchange_areas)
    : self_(self),
      registry_(registry),
      exchange_areas_(std::move(exchange_areas)),
      mapped_(exchange_areas_.size()) {}

BufferPosition Allocations::post(const void* data, size_t bytes, const BufferPosition& beside) {
  const auto located = registry_.find(data, bytes);
  if (!located) return {};
  // Each block maps to one slot, so a block that was posted before is found by one comparison.
  const int slot = static_cast<int>(located->block.slot % ExchangeArea::kAllocations);
  AllocationSlot& told = exchange_areas_[self_].allocation(slot);
  if (own_[slot] != located->block) {
    if (slot == beside.slot) return {};
    const auto handle = registry_.handle(located->block);
    if (!handle) return {};
    own_[slot] = located->block;
    std::memcpy(told.handle, &*handle, sizeof *handle);
    generations_[slot] += 1;
  }
  return {slot, generations_[slot], located->offset};
}

Result<std::byte*> Allocations::resolve(Rank peer, const BufferPosition& posted) {
  Mapped& mapped = mapped_[peer][posted.slot];
  if (mapped.generation != posted.generation) {
    device::ShareHandle handle;
    std::memcpy(&handle, exchange_areas_[peer].allocation(posted.slot).handle, sizeof handle);
    auto memory = device::SharedMemory::attach(handle, device::Pages::huge);
    WEIR_TRY(memory.status());
    mapped = {posted.generation, std::move(*memory)};
  }
  return mapped.memory.data() + posted.offset;
}

}  // namespace weir::exec
