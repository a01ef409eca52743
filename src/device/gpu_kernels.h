// SPDX-License-Identifier: Apache-2.0
/// GPU kernels: code objects that are loaded from memory and launched on streams.
///
/// Thread-safe. Errors: as src/device/gpu.h.
/// Tests: tests/device/gpu_sharing_test.cc
#pragma once

#include <string_view>

#include "src/device/gpu.h"

namespace weir::device {

using GpuModule = void*;
using GpuKernel = void*;

/// The parameters of one launch; blocks and threads have one dimension.
struct GpuLaunch {
  GpuKernel kernel = nullptr;
  uint32_t blocks = 1;
  uint32_t threads = 1;        ///< threads per block
  uint32_t shared_bytes = 0;   ///< dynamic shared memory per block, in bytes
  void** arguments = nullptr;  ///< addresses of the arguments, which are copied before launch() returns
};

class GpuKernels {
 public:
  virtual ~GpuKernels() = default;

  /// The kind of code that the GPU accepts: "cuda" or "hip".
  virtual std::string_view code() const = 0;

  /// Loads an image: a cubin, a fat binary, PTX, or a HIP code object. The image may be freed when this
  /// returns.
  virtual Result<GpuModule> load(const void* image) = 0;
  /// Unloads a module. REQUIRES: none of its kernels runs or is part of a graph.
  virtual Status unload(GpuModule module) = 0;
  /// Finds a kernel by name. The kernel lives as long as the module.
  virtual Result<GpuKernel> find(GpuModule module, const char* name) = 0;
  virtual Status launch(const GpuLaunch& launch, GpuStream stream) = 0;
  /// The number of multiprocessors of the GPU, and the number of blocks of a kernel that one multiprocessor
  /// can run at a time.
  virtual Result<int> multiprocessors() = 0;
  virtual Result<int> resident_blocks(GpuKernel kernel, uint32_t threads, uint32_t shared_bytes) = 0;
};

}  // namespace weir::device
