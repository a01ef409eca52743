// SPDX-License-Identifier: Apache-2.0
/// The rings of a rank to those of other hosts, with the memory in which they lie: pinned, and slots in that
/// of the GPU where network adapters come to it by themselves (GPUDirect RDMA).
///
/// Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "src/core/channels/routes.h"
#include "src/core/gpu/gpu_slots.h"
#include "src/core/staged/pinned.h"
#include "src/exec/gpu/proxy_rings.h"

namespace weir::core {

class ProxiedMemory {
 public:
  /// Which of the host's adapters use memory of the rank's GPU.
  struct Adapters {
    GpuSlots::Allows allows;  ///< empty: none
    bool read = true;         ///< they do not only write it
  };
  struct Dependencies {
    Rank rank = 0;
    device::Gpu* gpu = nullptr;
    std::vector<Rank> peers;  ///< on other hosts
    size_t slot_bytes = 0;
    const Routes* routes = nullptr;  ///< null: adapters are not asked
    Adapters adapters;
  };

  /// GPU and transports outlive it; transports only until take_back(). Errors: those of the driver, and that
  /// it would be too much.
  static Result<std::unique_ptr<ProxiedMemory>> make(const Dependencies& dependencies);

  exec::gpu::ProxyRings& rings() { return rings_; }
  /// Nobody serves the rings any more: transports forget what they were lent.
  void take_back();

 private:
  ProxiedMemory(const Dependencies& dependencies, Pinned memory, uint64_t on_gpu);
  void lend(const Dependencies& dependencies);
  Status lend_to(Transport& transport, const Dependencies& dependencies);

  Pinned memory_;
  exec::gpu::ProxyRings rings_;
  std::unique_ptr<GpuSlots> slots_;  ///< null: all lie in the pinned memory
};

}  // namespace weir::core
