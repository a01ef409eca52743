// SPDX-License-Identifier: Apache-2.0
/// An executor that runs each call as one launch of the lane kernels, whose blocks wait for blocks of other
/// ranks on the GPU. All blocks of all ranks that share a GPU must fit on it at the same time, which
/// Limits::blocks ensures.
///
/// Memory: the segments, laid out by segment_table.h, and pinned pages for the abort word, the notes of
/// blocks and code to be copied. create() allocates the pages.
/// Tests: tests/core/device_collectives_test.cc
#pragma once

#include <atomic>
#include <memory>

#include "src/device/gpu_kernels.h"
#include "src/exec/gpu/image.h"
#include "src/exec/gpu/proxy_rings.h"
#include "src/exec/gpu/segment_table.h"

namespace weir::exec::gpu {

/// The loaded kernels; they outlive the executors that use them.
struct LoadedKernels {
  device::GpuKernel bandwidth = nullptr;
  device::GpuKernel packet = nullptr;
  device::GpuKernel transfer = nullptr;  ///< kernel of one move (move_launch.h)
  device::GpuKernel pairs = nullptr;     ///< kernel of sends and receives (pairs_launch.h)
  uint32_t most_threads = kMostThreads;  ///< maximum number of threads of a block
};

class KernelExecutor final : public Queued {
 public:
  struct Limits {
    uint32_t blocks = 1;  ///< maximum number of blocks of a launch, the same on all ranks
  };

  /// Makes the executor. The GPU, the memory of the segments and the (bound) rings to other hosts must
  /// outlive it; the rings are null if all ranks are on one host. Errors: those of the driver.
  static Result<std::unique_ptr<KernelExecutor>> create(device::Gpu& gpu, const LoadedKernels& kernels,
                                                        GpuSegments segments, const Limits& limits,
                                                        ProxyRings* proxied = nullptr);
  /// REQUIRES: no queued call runs any more. May wait for the GPU.
  ~KernelExecutor() override;

  Result<std::unique_ptr<Ready>> prepare(const ir::Plan& plan, std::span<const Program> programs,
                                         const RunParameters& way) override;
  /// A call is one launch, and one part.
  Result<bool> queue_part(Ready& ready, const Work& work, device::GpuStream stream, size_t part) override;
  bool exchanges() const override { return true; }
  Status exchange(std::span<const PeerTransfer> pairs, device::GpuStream stream) override;
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
  ProxyRings* const proxied_;  ///< rings to other hosts; null: all ranks are on this host
  const Limits limits_;
  Pages* const pages_;  ///< pinned memory
  const uint64_t pages_on_gpu_;
  const uint32_t pair_rings_;  ///< rings for sends between two ranks in one direction; the same on all ranks
  size_t code_used_ = 0;       ///< bytes of the code area in use
  bool pair_ports_sent_ = false;
};

}  // namespace weir::exec::gpu
