// SPDX-License-Identifier: Apache-2.0

#include "src/core/staged/pinned.h"

#include <fmt/format.h>

#include <cstring>
#include <new>

#include "src/base/log.h"

namespace weir::core {
namespace {

constexpr std::align_val_t kPageAlignment{4096};

}  // namespace

Result<Pinned> Pinned::allocate(device::Gpu* gpu, size_t bytes) {
  void* data = nullptr;
  if (gpu != nullptr) {
    auto memory = gpu->allocate(bytes, device::GpuMemory::pinned);
    if (!memory.ok()) return memory.status();
    data = *memory;
  } else {
    data = ::operator new(bytes, kPageAlignment, std::nothrow);
    if (data == nullptr)
      return Status(Code::system_error, fmt::format("cannot allocate {} bytes for staging", bytes));
  }
  std::memset(data, 0, bytes);
  return Pinned(gpu, static_cast<std::byte*>(data), bytes);
}

Pinned::~Pinned() {
  if (data_ == nullptr) return;
  if (gpu_ == nullptr) {
    ::operator delete(data_, kPageAlignment);
  } else if (const Status freed = gpu_->free(data_, device::GpuMemory::pinned); !freed.ok()) {
    WEIR_INFO(alloc, "pinned memory was not freed: {}", freed.message());
  }
}

}  // namespace weir::core
