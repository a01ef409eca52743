// SPDX-License-Identifier: Apache-2.0
/// Queued by the lane kernels: one launch per call, its blocks waiting for those of other ranks on the GPU
/// itself. All blocks of all ranks that share a GPU must fit on it at once, which Limits::blocks sees to.
///
/// Memory: the segments, which segment_table.h cuts; and pinned pages for the abort word, what blocks say and
/// code on its way, all taken by create().
#pragma once

#include <atomic>
#include <memory>

#include "src/device/gpu_kernels.h"
#include "src/exec/gpu/image.h"
#include "src/exec/gpu/proxy_rings.h"
#include "src/exec/gpu/segment_table.h"

namespace weir::exec::gpu {

/// The kernels as a driver has loaded them; they outlive who uses them.
struct LoadedKernels {
  device::GpuKernel bandwidth = nullptr;
  device::GpuKernel packet = nullptr;
  device::GpuKernel transfer = nullptr;  ///< one move (move_launch.h)
  device::GpuKernel pairs = nullptr;     ///< sends and receives (pairs_launch.h)
  uint32_t most_threads = kMostThreads;  ///< of a block
};

class KernelExecutor final : public Queued {
 public:
  struct Limits {
    uint32_t blocks = 1;  ///< of a launch, the same on all ranks
  };

  /// The GPU, memory behind the segments, and the rings to other hosts, bound, outlive it; these are null
  /// where all ranks are on one. Errors: those of the driver.
  static Result<std::unique_ptr<KernelExecutor>> create(device::Gpu& gpu, const LoadedKernels& kernels,
                                                        GpuSegments segments, const Limits& limits,
                                                        ProxyRings* proxied = nullptr);
  /// REQUIRES: nothing that is queued runs any more. May wait for the GPU.
  ~KernelExecutor() override;

  Result<std::unique_ptr<Ready>> prepare(const ir::Plan& plan, std::span<const Program> programs,
                                         const Way& way) override;
  Status queue(Ready& ready, const Work& work, device::GpuStream stream) override;
  bool exchanges() const override { return true; }
  Status exchange(std::span<const Pair> pairs, device::GpuStream stream) override;
  void abort() override;
  void retire() override { abort(); }
  Look look() override;

 private:
  class Bound;
  struct Pages;

  KernelExecutor(device::Gpu& gpu, const LoadedKernels& kernels, GpuSegments segments, const Limits& limits,
                 ProxyRings* proxied, Pages* pages, uint64_t pages_on_gpu);

  uint32_t rings(GpuSegmentTable::Kind kind) const;
  Port port(GpuSegmentTable::Kind kind, const ProxyRings::End& end) const;
  void write_ports(const Bound& bound, GpuSegmentTable::Kind kind, uint32_t rings_of_shard, Port* port) const;
  void write_pair_ports();
  std::byte* code_in_segment() const;
  Status send_code(size_t at, size_t bytes, bool& sent, device::GpuStream stream);

  device::Gpu& gpu_;
  const LoadedKernels kernels_;
  const GpuSegments segments_;
  const GpuSegmentTable table_;
  ProxyRings* const proxied_;  ///< null: all ranks are near
  const Limits limits_;
  Pages* const pages_;  ///< pinned
  const uint64_t pages_on_gpu_;
  const uint32_t pair_rings_;  ///< between two ranks, one way round, for sends; the same on all ranks
  size_t code_used_ = 0;       ///< bytes
  bool pair_ports_sent_ = false;
};

}  // namespace weir::exec::gpu
