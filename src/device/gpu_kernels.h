// SPDX-License-Identifier: Apache-2.0
/// Kernels of a GPU: code objects that are loaded from memory, and launched on streams.
///
/// Thread-safe. Errors: as src/device/gpu.h.
#pragma once

#include <string_view>

#include "src/device/gpu.h"

namespace weir::device {

using GpuModule = void*;
using GpuKernel = void*;

/// One launch; blocks and threads in one dimension.
struct GpuLaunch {
  GpuKernel kernel = nullptr;
  uint32_t blocks = 1;
  uint32_t threads = 1;        ///< of a block
  uint32_t shared_bytes = 0;   ///< of dynamic shared memory, of a block
  void** arguments = nullptr;  ///< the address of each; copied before launch() returns
};

class GpuKernels {
 public:
  virtual ~GpuKernels() = default;

  /// Whose code it takes: "cuda" or "hip".
  virtual std::string_view code() const = 0;

  /// The image (a cubin, a fat binary, PTX; a code object of HIP) may go once this returns.
  virtual Result<GpuModule> load(const void* image) = 0;
  /// REQUIRES: none of its kernels runs or is in a graph.
  virtual Status unload(GpuModule module) = 0;
  /// Lives as long as the module.
  virtual Result<GpuKernel> find(GpuModule module, const char* name) = 0;
  virtual Status launch(const GpuLaunch& launch, GpuStream stream) = 0;
  /// Multiprocessors of the GPU, and blocks of a kernel that fit on one at a time.
  virtual Result<int> multiprocessors() = 0;
  virtual Result<int> resident_blocks(GpuKernel kernel, uint32_t threads, uint32_t shared_bytes) = 0;
};

}  // namespace weir::device
