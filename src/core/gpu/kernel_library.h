// SPDX-License-Identifier: Apache-2.0
/// The kernels of this process: found beside the library (or where WEIR_GPU_KERNELS says), loaded on each GPU
/// when first asked for, and kept to the end of the process.
///
/// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "src/device/gpu_kernels.h"
#include "src/exec/gpu/kernel_executor.h"

namespace weir::core {

/// The kernels of an image on the GPU of `driver`. Errors: those of the driver; then nothing stays loaded.
Result<exec::gpu::LoadedKernels> load_kernels(device::GpuKernels& driver, const void* image);

class KernelLibrary {
 public:
  /// `path` empty: the usual name, beside this library or where the loader looks.
  explicit KernelLibrary(std::string path) : path_(std::move(path)) {}

  /// The kernels on `gpu`. Errors: system_error with what was looked for where there is no library; those of
  /// the driver where it cannot use what is in it.
  Result<exec::gpu::LoadedKernels> on(device::Gpu& gpu);

 private:
  Result<const void*> image(const std::string& name);

  const std::string path_;
  std::mutex mutex_;
  std::map<std::string, const void*> images_;  ///< by library; stay mapped
  std::map<device::Gpu*, exec::gpu::LoadedKernels> loaded_;
};

}  // namespace weir::core
