// SPDX-License-Identifier: Apache-2.0
/// GPU memory that is registered with transports, whose adapters write and read messages there (GPUDirect
/// RDMA).
///
/// Not thread-safe.
/// Tests: tests/core/proxied_end_test.cc
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "src/device/gpu_direct.h"
#include "transports/slot_registrar.h"
#include "transports/transport.h"

namespace weir::core {

class GpuSlots final : public SlotMemory {
 public:
  /// Whether an adapter may access the GPU's memory.
  using Allows = std::function<Status(const std::string& adapter)>;

  /// Allocates memory of the GPU, which outlives it. REQUIRES: gpu.direct() is not null.
  static Result<std::unique_ptr<GpuSlots>> make(device::Gpu& gpu, size_t bytes, Allows allows);
  /// Calls deregister(), then frees the memory. REQUIRES: no queued call uses it.
  ~GpuSlots() override;
  GpuSlots(const GpuSlots&) = delete;
  GpuSlots& operator=(const GpuSlots&) = delete;

  /// Registers the memory with a transport.
  Status register_with(Transport& transport);
  bool is_registered() const { return !registrars_.empty(); }
  /// Deregisters the memory from all transports. REQUIRES: these still live.
  void deregister();

  std::byte* begin() const override { return memory_; }
  size_t bytes() const override { return bytes_; }
  Result<Socket> file() const override { return gpu_.direct()->file_of(memory_, bytes_); }
  Status allows(const std::string& adapter) const override { return allows_(adapter); }

 private:
  GpuSlots(device::Gpu& gpu, void* allocated, std::byte* memory, size_t bytes, Allows allows)
      : gpu_(gpu), allocated_(allocated), memory_(memory), bytes_(bytes), allows_(std::move(allows)) {}

  device::Gpu& gpu_;
  void* const allocated_;
  std::byte* const memory_;  ///< whole pages in it
  const size_t bytes_;
  const Allows allows_;
  std::vector<SlotRegistrar*> registrars_;
};

}  // namespace weir::core
