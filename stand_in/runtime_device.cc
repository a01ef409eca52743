// SPDX-License-Identifier: Apache-2.0
// libcudart.so of the stand-in: what its GPUs are, other GPUs, and functions of the driver by name.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "stand_in/runtime.h"

using namespace fake;

namespace {

/// What is known of cudaDeviceProp: where fields are, in the struct of CUDA 13, and in that of CUDA 12.
struct Layout {
  size_t bytes;
  size_t processors;
};
constexpr Layout kCuda13{1008, 384};
constexpr Layout kCuda12{1032, 388};
constexpr size_t kUuid = 256, kMemory = 288, kShared = 296, kRegisters = 304, kWarp = 308, kThreads = 320,
                 kBlockShape = 324, kGridShape = 336, kMajor = 360, kMinor = 364;

int describe(char* properties, int device, const Layout& layout) {
  if (ready() != 0) return ready();
  size_t left = 0, memory = 0;
  std::memset(properties, 0, layout.bytes);
  if (const int code = cuDeviceGetName(properties, 256, device); code != 0) return keep(code);
  cuMemGetInfo_v2(&left, &memory);
  cuDeviceGetUuid_v2(reinterpret_cast<unsigned char*>(properties + kUuid), device);
  const auto put = [&](size_t at, auto value) { std::memcpy(properties + at, &value, sizeof(value)); };
  put(kMemory, memory);
  put(kShared, size_t{48} << 10);
  put(kRegisters, 65536);
  put(kWarp, 32);
  put(kThreads, 1024);
  for (size_t axis = 0; axis < 3; ++axis) {
    put(kBlockShape + axis * sizeof(int), axis < 2 ? 1024 : 64);
    put(kGridShape + axis * sizeof(int), axis == 0 ? 0x7fffffff : 65535);
  }
  for (const auto& [at, attribute] : {std::pair(kMajor, 75), {kMinor, 76}, {layout.processors, 16}}) {
    int value = 0;
    cuDeviceGetAttribute(&value, attribute, device);
    put(at, value);
  }
  return 0;
}

}  // namespace

extern "C" {

int cudaGetDeviceProperties(void* properties, int device) {
  return describe(static_cast<char*>(properties), device, kCuda13);
}
int cudaGetDeviceProperties_v2(void* properties, int device) {
  return describe(static_cast<char*>(properties), device, kCuda12);
}
int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  return ready() != 0 ? ready() : keep(cuDeviceGetAttribute(value, attribute, device));
}
int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { return *least = *greatest = 0; }
int cudaDeviceReset() { return 0; }
int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  void* context = nullptr;
  if (ready() != 0) return ready();
  const int code = cuDevicePrimaryCtxRetain(&context, peer);
  return keep(code != 0 ? code : cuCtxEnablePeerAccess(context, flags));
}
int cudaProfilerStart() { return 0; }
int cudaProfilerStop() { return 0; }

/// The newest variant of a function that the stand-in has. `status` 0: found; 1: not.
int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                     int* status) {
  void* found = nullptr;
  for (const char* const suffix : {"_v3", "_v2", ""})
    if (found == nullptr) found = dlsym(RTLD_DEFAULT, (std::string(name) + suffix).c_str());
  *function = found;
  if (status != nullptr) *status = found != nullptr ? 0 : 1;
  return 0;
}
int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, status);
}
}
