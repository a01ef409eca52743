// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/gpu_slots.h"

#include "src/base/chunks.h"
#include "src/base/log.h"

namespace weir::core {

Result<std::unique_ptr<GpuSlots>> GpuSlots::make(device::Gpu& gpu, size_t bytes, Allows allows) {
  constexpr size_t kPage = size_t{64} << 10;  // the largest usual page size of GPUs and hosts
  bytes = round_up(bytes, kPage);
  auto memory = gpu.allocate(bytes, device::GpuMemory::device);
  WEIR_TRY(memory.status());
  return std::unique_ptr<GpuSlots>(
      new GpuSlots(gpu, static_cast<std::byte*>(*memory), bytes, std::move(allows)));
}

GpuSlots::~GpuSlots() {
  take_back();
  const Status freed = gpu_.free(memory_, device::GpuMemory::device);
  if (!freed.ok()) WEIR_INFO(alloc, "memory of a GPU was not freed: {}", freed.message());
}

Status GpuSlots::lend_to(Transport& transport) {
  WEIR_TRY(transport.lend(*this));
  borrowers_.push_back(&transport);
  return {};
}

void GpuSlots::take_back() {
  for (Transport* const borrower : borrowers_) borrower->take_back(*this);
  borrowers_.clear();
}

}  // namespace weir::core
