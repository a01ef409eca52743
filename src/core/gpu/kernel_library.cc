// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/kernel_library.h"

#include <fmt/format.h>

#include "src/base/host.h"
#include "src/base/log.h"
#include "src/drivers/library.h"

namespace weir::core {
namespace {

/// The folder of this library, with a slash at the end; empty: unknown.
std::string own_folder() {
  const std::string file = own_file();
  return file.substr(0, file.rfind('/') + 1);
}

}  // namespace

Result<exec::gpu::LoadedKernels> load_kernels(device::GpuKernels& driver, const void* image) {
  auto module = driver.load(image);
  WEIR_TRY(module.status());
  exec::gpu::LoadedKernels kernels;
  const std::pair<const char*, device::GpuKernel*> wanted[] = {{"weir_lanes_bandwidth", &kernels.bandwidth},
                                                               {"weir_lanes_packet", &kernels.packet},
                                                               {"weir_transfer", &kernels.transfer},
                                                               {"weir_pairs", &kernels.pairs}};
  for (const auto& [name, kernel] : wanted) {
    auto found = driver.find(*module, name);
    if (!found.ok()) {
      (void)driver.unload(*module);
      return found.status();
    }
    *kernel = *found;
  }
  kernels.most_threads = driver.code() == "hip" ? exec::gpu::kMostThreadsOfAmd : exec::gpu::kMostThreads;
  return kernels;
}

Result<const void*> KernelLibrary::image(const std::string& name) {
  if (const auto known = images_.find(name); known != images_.end()) return known->second;
  const std::string beside = path_.empty() ? own_folder() + name : path_;
  auto library =
      drivers::Library::open_for_good(beside.c_str(), path_.empty() ? name.c_str() : path_.c_str());
  if (!library.ok())
    return Status(Code::system_error, fmt::format("its kernels are missing: {} cannot be loaded ({})", beside,
                                                  library.status().message()));
  const void* const found = library->find_data("weir_gpu_image");
  if (found == nullptr)
    return Status(Code::system_error,
                  fmt::format("its kernels are missing: {} has no symbol weir_gpu_image", beside));
  images_.emplace(name, found);
  return found;
}

Result<exec::gpu::LoadedKernels> KernelLibrary::on(device::Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  if (const auto known = loaded_.find(&gpu); known != loaded_.end()) return known->second;
  device::GpuKernels* const driver = gpu.kernels();
  if (driver == nullptr) return Status(Code::system_error, "its driver cannot launch kernels");
  const std::string name = fmt::format("libweir_{}.so", driver->code());
  auto code = image(name);
  WEIR_TRY(code.status());
  auto kernels = load_kernels(*driver, *code);
  WEIR_TRY(kernels.status());
  loaded_.emplace(&gpu, *kernels);
  WEIR_INFO(init, "loaded the kernels of {} on {}", path_.empty() ? name : path_, gpu.description());
  return kernels;
}

}  // namespace weir::core
