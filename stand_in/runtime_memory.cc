// SPDX-License-Identifier: Apache-2.0
// libcudart.so of the stand-in: memory beyond plain allocations and copies. Memory of pools is plain memory;
// it is freed once the GPU has nothing to do.
#include <cstdint>

#include "stand_in/runtime.h"
#include "stand_in/world.h"

using namespace fake;

namespace {

/// CUDA's struct cudaPointerAttributes.
struct PointerAttributes {
  int type;  ///< 0: not known, 1: host, 2: device, 3: managed
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};

int pool = 0;  ///< its address is the handle of the one pool of each GPU

}  // namespace

extern "C" {

int cudaMalloc(void** memory, size_t bytes);
int cudaFree(void* memory);
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream);
int cudaStreamSynchronize(void* stream);

int cudaMallocAsync(void** memory, size_t bytes, void*) { return cudaMalloc(memory, bytes); }
int cudaFreeAsync(void* memory, void* stream) {
  const int code = cudaStreamSynchronize(stream);
  return code != 0 ? code : cudaFree(memory);
}
int cudaDeviceGetDefaultMemPool(void** handle, int) { return *handle = &pool, 0; }
int cudaMemPoolGetAttribute(void*, int, void* value) { return *static_cast<uint64_t*>(value) = 0, 0; }
int cudaMemPoolSetAttribute(void*, int, void*) { return 0; }
int cudaMemPoolSetAccess(void*, const void*, size_t) { return 0; }
int cudaMemPoolTrimTo(void*, size_t) { return 0; }

int cudaHostRegister(void* memory, size_t bytes, unsigned flags) {
  return ready() != 0 ? ready() : keep(cuMemHostRegister_v2(memory, bytes, flags));
}
int cudaHostUnregister(void* memory) { return ready() != 0 ? ready() : keep(cuMemHostUnregister(memory)); }

int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  if (ready() != 0) return ready();
  int type = 0, device = 0;
  bool managed = false;
  int wanted[] = {2, 8, 9};
  void* values[] = {&type, &managed, &device};
  if (const int code = cuPointerGetAttributes(3, wanted, values, address_of(pointer)); code != 0)
    return keep(code);
  *attributes = PointerAttributes{};
  attributes->type = managed ? 3 : type;
  attributes->device = device;
  void* const address = const_cast<void*>(pointer);
  if (type != 0) attributes->device_pointer = address;
  if (type != 2 || managed) attributes->host_pointer = address;
  return 0;
}

int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, void* stream) {
  return cudaMemcpyAsync(to, from, bytes, 4, stream);
}
int cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                      size_t height, int kind, void* stream) {
  for (size_t row = 0; row < height; ++row) {
    const int code = cudaMemcpyAsync(static_cast<char*>(to) + row * to_pitch,
                                     static_cast<const char*>(from) + row * from_pitch, width, kind, stream);
    if (code != 0) return code;
  }
  return 0;
}

int cudaIpcGetMemHandle(void* handle, void* memory) {
  return ready() != 0 ? ready() : keep(cuIpcGetMemHandle(handle, address_of(memory)));
}
int cudaIpcOpenMemHandle(void** memory, IpcHandle handle, unsigned flags) {
  if (ready() != 0) return ready();
  Address address = 0;
  const int code = cuIpcOpenMemHandle_v2(&address, handle, flags);
  return *memory = reinterpret_cast<void*>(address), keep(code);
}
int cudaIpcCloseMemHandle(void* memory) {
  return ready() != 0 ? ready() : keep(cuIpcCloseMemHandle(address_of(memory)));
}
int cudaIpcGetEventHandle(void* handle, void* event) {
  return ready() != 0 ? ready() : keep(cuIpcGetEventHandle(handle, event));
}
int cudaIpcOpenEventHandle(void** event, IpcHandle handle) {
  return ready() != 0 ? ready() : keep(cuIpcOpenEventHandle(event, handle));
}

// There are no kernels, and so none of their variables.
int cudaGetSymbolAddress(void**, const void*) { return keep(kNotSupported); }
int cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, int) { return keep(kNotSupported); }
}
