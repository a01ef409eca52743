#include "src/core/gpu/kernel_library.h"

#include <fmt/format.h>

#include "src/base/host.h"
#include "src/base/log.h"
#include "src/drivers/library.h"

namespace weir::core {
namespace {

/// Where this library is, with a slash; empty: unknown.
std::string own_folder() {
  const std::string file = own_file();
  return file.substr(0, file.rfind('/') + 1);
}

}  // namespace

Result<const void*> KernelLibrary::image(const std::string& name) {
  if (const auto known = images_.find(name); known != images_.end()) return known->second;
  const std::string beside = path_.empty() ? own_folder() + name : path_;
  auto library =
      drivers::Library::open_for_good(beside.c_str(), path_.empty() ? name.c_str() : path_.c_str());
  if (!library.ok())
    return Status(Code::system_error, fmt::format("no kernels for it: {} cannot be loaded ({})", beside,
                                                  library.status().message()));
  const void* const found = library->find_data("weir_gpu_image");
  if (found == nullptr)
    return Status(Code::system_error,
                  fmt::format("no kernels for it: {} has no symbol weir_gpu_image", beside));
  images_.emplace(name, found);
  return found;
}

Result<exec::gpu::LoadedKernels> KernelLibrary::on(device::Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  if (const auto known = loaded_.find(&gpu); known != loaded_.end()) return known->second;
  device::GpuKernels* const driver = gpu.kernels();
  if (driver == nullptr) return Status(Code::system_error, "its driver launches no kernels");
  const std::string name = fmt::format("libweir_{}.so", driver->code());
  auto code = image(name);
  WEIR_TRY(code.status());
  auto module = driver->load(*code);
  WEIR_TRY(module.status());
  exec::gpu::LoadedKernels kernels;
  auto bandwidth = driver->find(*module, "weir_lanes_bandwidth");
  WEIR_TRY(bandwidth.status());
  auto packet = driver->find(*module, "weir_lanes_packet");
  WEIR_TRY(packet.status());
  kernels.bandwidth = *bandwidth;
  kernels.packet = *packet;
  auto transfer = driver->find(*module, "weir_transfer");
  WEIR_TRY(transfer.status());
  kernels.transfer = *transfer;
  kernels.most_threads = driver->code() == "hip" ? exec::gpu::kMostThreadsOfAmd : exec::gpu::kMostThreads;
  loaded_.emplace(&gpu, kernels);
  WEIR_INFO(init, "kernels of {} on {}", path_.empty() ? name : path_, gpu.description());
  return kernels;
}

}  // namespace weir::core
