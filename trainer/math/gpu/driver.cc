// SPDX-License-Identifier: Apache-2.0

#include "trainer/math/gpu/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace weir::trainer::gpu {

Result<Library> Library::open(std::initializer_list<std::string> names) {
  for (const std::string& name : names)
    if (void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); handle != nullptr)
      return Library(handle);
  const char* const reason = dlerror();
  return Status(Code::system_error, reason != nullptr ? reason : "the library could not be loaded");
}

void* Library::address(const char* name) const { return dlsym(handle_, name); }

Result<Driver> Driver::load() {
  Result<Library> library = Library::open({"libcuda.so.1"});
  if (!library.ok())
    return Status(Code::system_error, "no driver for NVIDIA GPUs: " + library.status().message());
  Driver driver;
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto*& function) {
    if (!library->find(name, function)) missing = name;
  };
  find("cuInit", driver.init);
  find("cuGetErrorName", driver.error_name);
  find("cuGetErrorString", driver.error_string);
  find("cuDeviceGetCount", driver.device_count);
  find("cuDeviceGetName", driver.device_name);
  find("cuDeviceGetAttribute", driver.device_attribute);
  find("cuDevicePrimaryCtxRetain", driver.context_retain);
  find("cuCtxSetCurrent", driver.context_set);
  find("cuMemGetInfo_v2", driver.memory_info);
  find("cuMemAlloc_v2", driver.allocate);
  find("cuMemFree_v2", driver.free);
  find("cuMemcpyAsync", driver.copy);
  find("cuMemsetD8Async", driver.fill);
  find("cuStreamCreate", driver.stream_create);
  find("cuStreamDestroy_v2", driver.stream_destroy);
  find("cuStreamSynchronize", driver.stream_synchronize);
  find("cuEventCreate", driver.event_create);
  find("cuEventDestroy_v2", driver.event_destroy);
  find("cuEventRecord", driver.event_record);
  find("cuEventSynchronize", driver.event_synchronize);
  // The older name is the one that drivers before CUDA 13 have for the same function.
  if (!library->find("cuEventElapsedTime_v2", driver.event_elapsed))
    find("cuEventElapsedTime", driver.event_elapsed);
  find("cuModuleLoadData", driver.module_load);
  find("cuModuleGetFunction", driver.module_function);
  find("cuLaunchKernel", driver.launch);
  if (missing != nullptr)
    return Status(Code::system_error, fmt::format("libcuda.so.1 has no function {}", missing));
  WEIR_TRY(driver.checked(driver.init(0), "initialising the GPU driver"));
  return driver;
}

Status Driver::checked(int code, const std::string& what) const {
  if (code == 0) return {};
  const char* name = nullptr;
  const char* sentence = nullptr;
  (void)error_name(code, &name);
  (void)error_string(code, &sentence);
  return Status(Code::system_error, fmt::format("{}: {}: {}", what, name != nullptr ? name : "unknown error",
                                                sentence != nullptr ? sentence : std::to_string(code)));
}

}  // namespace weir::trainer::gpu
