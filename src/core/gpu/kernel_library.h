// SPDX-License-Identifier: Apache-2.0
/// The kernels of this process: found beside the library (or at WEIR_GPU_KERNELS), loaded on each GPU on
/// first use, and kept to the end of the process.
///
/// Thread-safe.
/// Tests: tests/core/kernel_library_test.cc
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "src/device/gpu_kernels.h"
#include "src/exec/gpu/kernel_executor.h"

namespace weir::core {

/// Loads the kernels of an image on the GPU of `driver`. Errors: those of the driver; then nothing stays
/// loaded.
Result<exec::gpu::LoadedKernels> load_kernels(device::GpuKernels& driver, const void* image);

class KernelLibrary {
 public:
  /// `path`: file of the kernels; empty: the usual name, beside this library or on the loader's search path.
  explicit KernelLibrary(std::string path) : path_(std::move(path)) {}

  /// The kernels on `gpu`. Errors: system_error that names the file if it cannot be loaded; those of the
  /// driver if it cannot use the file's contents.
  Result<exec::gpu::LoadedKernels> on(device::Gpu& gpu);

 private:
  Result<const void*> image(const std::string& name);

  const std::string path_;
  std::mutex mutex_;
  std::map<std::string, const void*> images_;  ///< images by library name; stay mapped
  std::map<device::Gpu*, exec::gpu::LoadedKernels> loaded_;
};

}  // namespace weir::core
