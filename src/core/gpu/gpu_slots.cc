// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/gpu_slots.h"

#include <fmt/format.h>

#include "src/base/chunks.h"
#include "src/base/log.h"
#include "transports/transport.h"

namespace weir::core {

Result<std::unique_ptr<GpuSlots>> GpuSlots::make(device::Gpu& gpu, size_t bytes, Allows allows) {
  constexpr size_t kPage = size_t{64} << 10;  // the largest usual page size of GPUs and hosts
  bytes = round_up(bytes, kPage);
  // Drivers place small allocations side by side in a page, and give dmabufs of whole pages only.
  auto memory = gpu.allocate(bytes + kPage, device::GpuMemory::coherent);
  WEIR_TRY(memory.status());
  const size_t to_page =
      round_up(reinterpret_cast<uintptr_t>(*memory), kPage) - reinterpret_cast<uintptr_t>(*memory);
  return std::unique_ptr<GpuSlots>(
      new GpuSlots(gpu, *memory, static_cast<std::byte*>(*memory) + to_page, bytes, std::move(allows)));
}

GpuSlots::~GpuSlots() {
  deregister();
  const Status freed = gpu_.free(allocated_, device::GpuMemory::coherent);
  if (!freed.ok()) WEIR_INFO(alloc, "memory of a GPU was not freed: {}", freed.message());
}

Status GpuSlots::register_with(Transport& transport) {
  SlotRegistrar* const registrar = transport.slot_registrar();
  if (registrar == nullptr)
    return {Code::invalid_usage, fmt::format("{} supports slots in host memory only", transport.name())};
  WEIR_TRY(registrar->register_slots(*this));
  registrars_.push_back(registrar);
  return {};
}

void GpuSlots::deregister() {
  for (SlotRegistrar* const registrar : registrars_) registrar->deregister_slots(*this);
  registrars_.clear();
}

}  // namespace weir::core
