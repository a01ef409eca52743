// SPDX-License-Identifier: Apache-2.0
/// The functions of libamdhip64.so that are used, of HIP 5 to 7, declared here because no toolkit is needed
/// to build (tests/drivers compares them with HIP's header where there is one).
/// Tests: tests/drivers/hip_table_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/drivers/library.h"

namespace weir::drivers {

using HipEvent = void*;
using HipFunction = void*;
using HipModule = void*;
using HipStream = void*;

/// hipIpcMemHandle_t and hipIpcEventHandle_t, which are passed by value.
struct HipIpcHandle {
  char bytes[64];
};

/// hipPointerAttribute_t. What `type` means changed with HIP 6.
struct HipPointer {
  int type;
  int device;
  void* device_address;
  void* host_address;
  int managed;
  unsigned flags;
};
static_assert(sizeof(HipPointer) == 32);

struct HipTable {
  int (*init)(unsigned) = nullptr;
  const char* (*error_name)(int) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*last_error)() = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_address)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*get_device)(int*) = nullptr;
  int (*set_device)(int) = nullptr;
  int (*mem_alloc)(void**, size_t) = nullptr;
  int (*mem_alloc_flags)(void**, size_t, unsigned) = nullptr;
  int (*mem_alloc_managed)(void**, size_t, unsigned) = nullptr;
  int (*mem_free)(void*) = nullptr;
  int (*mem_host_alloc)(void**, size_t, unsigned) = nullptr;
  int (*mem_host_free)(void*) = nullptr;
  int (*mem_host_address)(void**, void*, unsigned) = nullptr;
  int (*mem_host_register)(void*, size_t, unsigned) = nullptr;
  int (*mem_host_unregister)(void*) = nullptr;
  int (*mem_range)(void**, size_t*, void*) = nullptr;
  int (*pointer_attributes)(HipPointer*, const void*) = nullptr;
  int (*copy)(void*, const void*, size_t, int, HipStream) = nullptr;
  int (*stream_create)(HipStream*, unsigned) = nullptr;
  int (*stream_destroy)(HipStream) = nullptr;
  int (*stream_synchronize)(HipStream) = nullptr;
  int (*stream_device)(HipStream) = nullptr;
  int (*stream_capturing)(HipStream, int*) = nullptr;
  int (*stream_wait_event)(HipStream, HipEvent, unsigned) = nullptr;
  int (*exchange_capture_mode)(int*) = nullptr;
  int (*event_create)(HipEvent*, unsigned) = nullptr;
  int (*event_destroy)(HipEvent) = nullptr;
  int (*event_record)(HipEvent, HipStream) = nullptr;
  int (*ipc_mem_handle)(HipIpcHandle*, void*) = nullptr;
  int (*ipc_mem_open)(void**, HipIpcHandle, unsigned) = nullptr;
  int (*ipc_mem_close)(void*) = nullptr;
  int (*ipc_event_handle)(HipIpcHandle*, HipEvent) = nullptr;
  int (*ipc_event_open)(HipEvent*, HipIpcHandle) = nullptr;
  int (*can_access_peer)(int*, int, int) = nullptr;
  int (*enable_peer_access)(int, unsigned) = nullptr;
  int (*module_load)(HipModule*, const void*) = nullptr;
  int (*module_unload)(HipModule) = nullptr;
  int (*module_function)(HipFunction*, HipModule, const char*) = nullptr;
  int (*resident_blocks)(int*, HipFunction, int, size_t) = nullptr;
  int (*launch)(HipFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, HipStream,
                void**, void**) = nullptr;
  int (*write_value)(HipStream, void*, uint32_t, unsigned) = nullptr;
  int (*wait_value)(HipStream, void*, uint32_t, unsigned, uint32_t) = nullptr;
  // HIP before 5.3 declares this in its header but does not implement it.
  int (*launch_host)(HipStream, void (*)(void*), void*) = nullptr;
  // Never called; its presence tells that the library is HIP 6 or newer.
  int (*properties_of_6)(void*, int) = nullptr;

  /// Calls visit(name, function, required) for each function; `required`: the library is useless without it.
  template <typename Visitor>
  void each(Visitor&& visit) {
    visit("hipInit", init, true);
    visit("hipGetErrorName", error_name, true);
    visit("hipGetErrorString", error_string, true);
    visit("hipGetLastError", last_error, true);
    visit("hipGetDeviceCount", device_count, true);
    visit("hipDeviceGetName", device_name, true);
    visit("hipDeviceGetPCIBusId", device_address, true);
    visit("hipDeviceGetAttribute", device_attribute, true);
    visit("hipGetDevice", get_device, true);
    visit("hipSetDevice", set_device, true);
    each_of_memory(visit);
    each_of_streams(visit);
    visit("hipDeviceCanAccessPeer", can_access_peer, true);
    visit("hipDeviceEnablePeerAccess", enable_peer_access, true);
    visit("hipModuleLoadData", module_load, true);
    visit("hipModuleUnload", module_unload, true);
    visit("hipModuleGetFunction", module_function, true);
    visit("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", resident_blocks, true);
    visit("hipModuleLaunchKernel", launch, true);
    visit("hipGetDevicePropertiesR0600", properties_of_6, false);
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
    visit("hipMalloc", mem_alloc, true);
    visit("hipExtMallocWithFlags", mem_alloc_flags, false);
    visit("hipMallocManaged", mem_alloc_managed, true);
    visit("hipFree", mem_free, true);
    visit("hipHostMalloc", mem_host_alloc, true);
    visit("hipHostFree", mem_host_free, true);
    visit("hipHostGetDevicePointer", mem_host_address, true);
    visit("hipHostRegister", mem_host_register, true);
    visit("hipHostUnregister", mem_host_unregister, true);
    visit("hipMemGetAddressRange", mem_range, true);
    visit("hipPointerGetAttributes", pointer_attributes, true);
    visit("hipMemcpyAsync", copy, true);
    visit("hipIpcGetMemHandle", ipc_mem_handle, true);
    visit("hipIpcOpenMemHandle", ipc_mem_open, true);
    visit("hipIpcCloseMemHandle", ipc_mem_close, true);
  }
  template <typename Visitor>
  void each_of_streams(Visitor&& visit) {
    visit("hipStreamCreateWithFlags", stream_create, true);
    visit("hipStreamDestroy", stream_destroy, true);
    visit("hipStreamSynchronize", stream_synchronize, true);
    visit("hipGetStreamDeviceId", stream_device, true);
    visit("hipStreamIsCapturing", stream_capturing, true);
    visit("hipStreamWaitEvent", stream_wait_event, true);
    visit("hipThreadExchangeStreamCaptureMode", exchange_capture_mode, true);
    visit("hipLaunchHostFunc", launch_host, false);
    visit("hipEventCreateWithFlags", event_create, true);
    visit("hipEventDestroy", event_destroy, true);
    visit("hipEventRecord", event_record, true);
    visit("hipIpcGetEventHandle", ipc_event_handle, true);
    visit("hipIpcOpenEventHandle", ipc_event_open, true);
    visit("hipStreamWriteValue32", write_value, true);
    visit("hipStreamWaitValue32", wait_value, true);
  }
};

}  // namespace weir::drivers
