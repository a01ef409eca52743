// SPDX-License-Identifier: Apache-2.0
/// The rings of a rank to ranks of other hosts, with their memory: pinned memory, and GPU memory for the
/// slots if network adapters can access it (GPUDirect RDMA).
///
/// Not thread-safe.
/// Tests: tests/core/proxied_end_test.cc, tests/core/device_direct_test.cc
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
  /// The host's adapters that may access memory of the rank's GPU.
  struct Adapters {
    GpuSlots::Allows allows;  ///< decides for each adapter; empty: none may
    bool read = true;         ///< false: adapters may only write
  };
  struct Dependencies {
    Rank rank = 0;
    device::Gpu* gpu = nullptr;
    std::vector<Rank> peers;  ///< ranks on other hosts
    size_t slot_bytes = 0;
    const Routes* routes = nullptr;  ///< null: no adapters are used
    Adapters adapters;
  };

  /// Allocates the rings. The GPU outlives them; the transports live until deregister(). Errors: those of the
  /// driver; system_error if the rings would exceed the limit on pinned memory.
  static Result<std::unique_ptr<ProxiedMemory>> make(const Dependencies& dependencies);

  exec::gpu::ProxyRings& rings() { return rings_; }
  /// Deregisters the memory from the transports, once no proxy serves the rings.
  void deregister();

 private:
  ProxiedMemory(const Dependencies& dependencies, Pinned memory, uint64_t on_gpu);
  void register_slots(const Dependencies& dependencies);
  Status register_with(Transport& transport, const Dependencies& dependencies);

  Pinned memory_;
  exec::gpu::ProxyRings rings_;
  std::unique_ptr<GpuSlots> slots_;  ///< slots in GPU memory; null: all are in pinned memory
};

}  // namespace weir::core
