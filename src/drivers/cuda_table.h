// SPDX-License-Identifier: Apache-2.0
/// The functions of libcuda.so.1 that are used, declared here because no toolkit is needed to build: names
/// and types are those of the driver API's ABI (tests/drivers compares them with cuda.h where there is one).
/// The library exports each function under the requested name, including its version suffix, so
/// cuGetProcAddress is not needed.
/// Tests: tests/drivers/cuda_table_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/drivers/library.h"

namespace weir::drivers {

using CudaContext = void*;
using CudaEvent = void*;
using CudaFunction = void*;
using CudaModule = void*;
using CudaStream = void*;
using CudaAddress = unsigned long long;

/// CUipcMemHandle and CUipcEventHandle, which are passed by value.
struct CudaIpcHandle {
  unsigned char bytes[64];
};

struct CudaTable {
  int (*init)(unsigned) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_address)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*context_retain)(CudaContext*, int) = nullptr;
  int (*context_current)(CudaContext*) = nullptr;
  int (*context_device)(int*) = nullptr;
  int (*context_push)(CudaContext) = nullptr;
  int (*context_pop)(CudaContext*) = nullptr;
  int (*mem_alloc)(CudaAddress*, size_t) = nullptr;
  int (*mem_alloc_managed)(CudaAddress*, size_t, unsigned) = nullptr;
  int (*mem_free)(CudaAddress) = nullptr;
  int (*mem_host_alloc)(void**, size_t, unsigned) = nullptr;
  int (*mem_host_free)(void*) = nullptr;
  int (*mem_host_address)(CudaAddress*, void*, unsigned) = nullptr;
  int (*mem_host_register)(void*, size_t, unsigned) = nullptr;
  int (*mem_host_unregister)(void*) = nullptr;
  int (*mem_range)(CudaAddress*, size_t*, CudaAddress) = nullptr;
  int (*pointer_attributes)(unsigned, int*, void**, CudaAddress) = nullptr;
  int (*copy)(CudaAddress, CudaAddress, size_t, CudaStream) = nullptr;
  int (*stream_create)(CudaStream*, unsigned) = nullptr;
  int (*stream_destroy)(CudaStream) = nullptr;
  int (*stream_synchronize)(CudaStream) = nullptr;
  int (*stream_context)(CudaStream, CudaContext*) = nullptr;
  int (*stream_capturing)(CudaStream, int*) = nullptr;
  int (*stream_wait_event)(CudaStream, CudaEvent, unsigned) = nullptr;
  int (*exchange_capture_mode)(int*) = nullptr;
  int (*launch_host)(CudaStream, void (*)(void*), void*) = nullptr;
  int (*event_create)(CudaEvent*, unsigned) = nullptr;
  int (*event_destroy)(CudaEvent) = nullptr;
  int (*event_record)(CudaEvent, CudaStream) = nullptr;
  int (*ipc_mem_handle)(CudaIpcHandle*, CudaAddress) = nullptr;
  int (*ipc_mem_open)(CudaAddress*, CudaIpcHandle, unsigned) = nullptr;
  int (*ipc_mem_close)(CudaAddress) = nullptr;
  int (*ipc_event_handle)(CudaIpcHandle*, CudaEvent) = nullptr;
  int (*ipc_event_open)(CudaEvent*, CudaIpcHandle) = nullptr;
  int (*can_access_peer)(int*, int, int) = nullptr;
  int (*enable_peer_access)(CudaContext, unsigned) = nullptr;
  int (*module_load)(CudaModule*, const void*) = nullptr;
  int (*module_unload)(CudaModule) = nullptr;
  int (*module_function)(CudaFunction*, CudaModule, const char*) = nullptr;
  int (*resident_blocks)(int*, CudaFunction, int, size_t) = nullptr;
  int (*launch)(CudaFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                CudaStream, void**, void**) = nullptr;
  // Drivers before 515 (CUDA 11.7) lack these; the older functions are disabled unless the system's
  // administrator enabled them.
  int (*write_value)(CudaStream, CudaAddress, uint32_t, unsigned) = nullptr;
  int (*wait_value)(CudaStream, CudaAddress, uint32_t, unsigned) = nullptr;

  /// Calls visit(name, function, required) for each function; `required`: the library is useless without it.
  template <typename Visitor>
  void each(Visitor&& visit) {
    visit("cuInit", init, true);
    visit("cuGetErrorName", error_name, true);
    visit("cuGetErrorString", error_string, true);
    visit("cuDeviceGetCount", device_count, true);
    visit("cuDeviceGetName", device_name, true);
    visit("cuDeviceGetPCIBusId", device_address, true);
    visit("cuDeviceGetAttribute", device_attribute, true);
    visit("cuDevicePrimaryCtxRetain", context_retain, true);
    visit("cuCtxGetCurrent", context_current, true);
    visit("cuCtxGetDevice", context_device, true);
    visit("cuCtxPushCurrent_v2", context_push, true);
    visit("cuCtxPopCurrent_v2", context_pop, true);
    each_of_memory(visit);
    each_of_streams(visit);
    visit("cuCtxEnablePeerAccess", enable_peer_access, true);
    visit("cuDeviceCanAccessPeer", can_access_peer, true);
    visit("cuModuleLoadData", module_load, true);
    visit("cuModuleUnload", module_unload, true);
    visit("cuModuleGetFunction", module_function, true);
    visit("cuOccupancyMaxActiveBlocksPerMultiprocessor", resident_blocks, true);
    visit("cuLaunchKernel", launch, true);
  }

  /// The name of a required function that `library` lacks, or null.
  const char* find_in(const Library& library) {
    const char* missing = nullptr;
    each([&](const char* name, auto*& function, bool needed) {
      if (!library.find(name, function) && needed && missing == nullptr) missing = name;
    });
    return missing;
  }

 private:
  template <typename Visitor>
  void each_of_memory(Visitor&& visit) {
    visit("cuMemAlloc_v2", mem_alloc, true);
    visit("cuMemAllocManaged", mem_alloc_managed, true);
    visit("cuMemFree_v2", mem_free, true);
    visit("cuMemHostAlloc", mem_host_alloc, true);
    visit("cuMemFreeHost", mem_host_free, true);
    visit("cuMemHostGetDevicePointer_v2", mem_host_address, true);
    visit("cuMemHostRegister_v2", mem_host_register, true);
    visit("cuMemHostUnregister", mem_host_unregister, true);
    visit("cuMemGetAddressRange_v2", mem_range, true);
    visit("cuPointerGetAttributes", pointer_attributes, true);
    visit("cuMemcpyAsync", copy, true);
    visit("cuIpcGetMemHandle", ipc_mem_handle, true);
    visit("cuIpcOpenMemHandle_v2", ipc_mem_open, true);
    visit("cuIpcCloseMemHandle", ipc_mem_close, true);
  }
  template <typename Visitor>
  void each_of_streams(Visitor&& visit) {
    visit("cuStreamCreate", stream_create, true);
    visit("cuStreamDestroy_v2", stream_destroy, true);
    visit("cuStreamSynchronize", stream_synchronize, true);
    visit("cuStreamGetCtx", stream_context, true);
    visit("cuStreamIsCapturing", stream_capturing, true);
    visit("cuStreamWaitEvent", stream_wait_event, true);
    visit("cuThreadExchangeStreamCaptureMode", exchange_capture_mode, true);
    visit("cuLaunchHostFunc", launch_host, true);
    visit("cuEventCreate", event_create, true);
    visit("cuEventDestroy_v2", event_destroy, true);
    visit("cuEventRecord", event_record, true);
    visit("cuIpcGetEventHandle", ipc_event_handle, true);
    visit("cuIpcOpenEventHandle", ipc_event_open, true);
    visit("cuStreamWriteValue32_v2", write_value, false);
    visit("cuStreamWaitValue32_v2", wait_value, false);
  }
};

}  // namespace weir::drivers
