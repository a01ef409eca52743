// SPDX-License-Identifier: Apache-2.0
// Compares the table's names and types with those of the vendor's header.
#include "src/drivers/hip_table.h"

#include <gtest/gtest.h>

#define __HIP_PLATFORM_AMD__  // the other platform of this header is CUDA
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>

#include "src/drivers/mapping_table.h"
#include "tests/drivers/same_call.h"

namespace weir::drivers {
namespace {

void compare_first(Comparison<HipTable>& compare) {
  EXPECT_EQ(compare.differ<decltype(hipInit)>("hipInit", &HipTable::init), "");
  EXPECT_EQ(compare.differ<decltype(hipGetErrorName)>("hipGetErrorName", &HipTable::error_name), "");
  EXPECT_EQ(compare.differ<decltype(hipGetErrorString)>("hipGetErrorString", &HipTable::error_string), "");
  EXPECT_EQ(compare.differ<decltype(hipGetLastError)>("hipGetLastError", &HipTable::last_error), "");
  EXPECT_EQ(compare.differ<decltype(hipGetDeviceCount)>("hipGetDeviceCount", &HipTable::device_count), "");
  EXPECT_EQ(compare.differ<decltype(hipDeviceGetName)>("hipDeviceGetName", &HipTable::device_name), "");
  EXPECT_EQ(compare.differ<decltype(hipDeviceGetPCIBusId)>("hipDeviceGetPCIBusId", &HipTable::device_address),
            "");
  EXPECT_EQ(
      compare.differ<decltype(hipDeviceGetAttribute)>("hipDeviceGetAttribute", &HipTable::device_attribute),
      "");
  EXPECT_EQ(compare.differ<decltype(hipGetDevice)>("hipGetDevice", &HipTable::get_device), "");
  EXPECT_EQ(compare.differ<decltype(hipSetDevice)>("hipSetDevice", &HipTable::set_device), "");
  EXPECT_EQ(
      compare.differ<decltype(hipDeviceCanAccessPeer)>("hipDeviceCanAccessPeer", &HipTable::can_access_peer),
      "");
  EXPECT_EQ(compare.differ<decltype(hipDeviceEnablePeerAccess)>("hipDeviceEnablePeerAccess",
                                                                &HipTable::enable_peer_access),
            "");
  EXPECT_EQ(compare.differ<decltype(hipModuleLoadData)>("hipModuleLoadData", &HipTable::module_load), "");
  EXPECT_EQ(compare.differ<decltype(hipModuleUnload)>("hipModuleUnload", &HipTable::module_unload), "");
  EXPECT_EQ(
      compare.differ<decltype(hipModuleGetFunction)>("hipModuleGetFunction", &HipTable::module_function), "");
  EXPECT_EQ(compare.differ<decltype(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)>(
                "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", &HipTable::resident_blocks),
            "");
  EXPECT_EQ(compare.differ<decltype(hipModuleLaunchKernel)>("hipModuleLaunchKernel", &HipTable::launch), "");
  EXPECT_EQ(compare.differ<decltype(hipMalloc)>("hipMalloc", &HipTable::mem_alloc), "");
  EXPECT_EQ(
      compare.differ<decltype(hipExtMallocWithFlags)>("hipExtMallocWithFlags", &HipTable::mem_alloc_flags),
      "");
  EXPECT_EQ(compare.differ<decltype(hipMallocManaged)>("hipMallocManaged", &HipTable::mem_alloc_managed), "");
  EXPECT_EQ(compare.differ<decltype(hipFree)>("hipFree", &HipTable::mem_free), "");
  EXPECT_EQ(compare.differ<decltype(hipHostMalloc)>("hipHostMalloc", &HipTable::mem_host_alloc), "");
  EXPECT_EQ(compare.differ<decltype(hipHostRegister)>("hipHostRegister", &HipTable::mem_host_register), "");
  EXPECT_EQ(compare.differ<decltype(hipHostUnregister)>("hipHostUnregister", &HipTable::mem_host_unregister),
            "");
  EXPECT_EQ(compare.differ<decltype(hipHostFree)>("hipHostFree", &HipTable::mem_host_free), "");
}

void compare_second(Comparison<HipTable>& compare) {
  EXPECT_EQ(compare.differ<decltype(hipHostGetDevicePointer)>("hipHostGetDevicePointer",
                                                              &HipTable::mem_host_address),
            "");
  EXPECT_EQ(compare.differ<decltype(hipMemGetAddressRange)>("hipMemGetAddressRange", &HipTable::mem_range),
            "");
  EXPECT_EQ(compare.differ<decltype(hipPointerGetAttributes)>("hipPointerGetAttributes",
                                                              &HipTable::pointer_attributes),
            "");
  EXPECT_EQ(compare.differ<decltype(hipMemcpyAsync)>("hipMemcpyAsync", &HipTable::copy), "");
  EXPECT_EQ(compare.differ<decltype(hipIpcGetMemHandle)>("hipIpcGetMemHandle", &HipTable::ipc_mem_handle),
            "");
  EXPECT_EQ(compare.differ<decltype(hipIpcOpenMemHandle)>("hipIpcOpenMemHandle", &HipTable::ipc_mem_open),
            "");
  EXPECT_EQ(compare.differ<decltype(hipIpcCloseMemHandle)>("hipIpcCloseMemHandle", &HipTable::ipc_mem_close),
            "");
  EXPECT_EQ(compare.differ<decltype(hipStreamCreateWithFlags)>("hipStreamCreateWithFlags",
                                                               &HipTable::stream_create),
            "");
  EXPECT_EQ(compare.differ<decltype(hipStreamDestroy)>("hipStreamDestroy", &HipTable::stream_destroy), "");
  EXPECT_EQ(
      compare.differ<decltype(hipStreamSynchronize)>("hipStreamSynchronize", &HipTable::stream_synchronize),
      "");
  EXPECT_EQ(compare.differ<decltype(hipGetStreamDeviceId)>("hipGetStreamDeviceId", &HipTable::stream_device),
            "");
  EXPECT_EQ(
      compare.differ<decltype(hipStreamIsCapturing)>("hipStreamIsCapturing", &HipTable::stream_capturing),
      "");
  EXPECT_EQ(compare.differ<decltype(hipStreamWaitEvent)>("hipStreamWaitEvent", &HipTable::stream_wait_event),
            "");
  EXPECT_EQ(compare.differ<decltype(hipThreadExchangeStreamCaptureMode)>("hipThreadExchangeStreamCaptureMode",
                                                                         &HipTable::exchange_capture_mode),
            "");
  EXPECT_EQ(compare.differ<decltype(hipLaunchHostFunc)>("hipLaunchHostFunc", &HipTable::launch_host), "");
  EXPECT_EQ(
      compare.differ<decltype(hipEventCreateWithFlags)>("hipEventCreateWithFlags", &HipTable::event_create),
      "");
  EXPECT_EQ(compare.differ<decltype(hipEventDestroy)>("hipEventDestroy", &HipTable::event_destroy), "");
  EXPECT_EQ(compare.differ<decltype(hipEventRecord)>("hipEventRecord", &HipTable::event_record), "");
  EXPECT_EQ(
      compare.differ<decltype(hipIpcGetEventHandle)>("hipIpcGetEventHandle", &HipTable::ipc_event_handle),
      "");
  EXPECT_EQ(
      compare.differ<decltype(hipIpcOpenEventHandle)>("hipIpcOpenEventHandle", &HipTable::ipc_event_open),
      "");
  EXPECT_EQ(compare.differ<decltype(hipStreamWriteValue32)>("hipStreamWriteValue32", &HipTable::write_value),
            "");
  EXPECT_EQ(compare.differ<decltype(hipStreamWaitValue32)>("hipStreamWaitValue32", &HipTable::wait_value),
            "");
}

TEST(HipTable, IsAsTheHeaderSays) {
  Comparison<HipTable> compare;
  compare_first(compare);
  compare_second(compare);
  EXPECT_EQ(compare.left(), "hipGetDevicePropertiesR0600") << "which is asked for its being there alone";
}

TEST(HipMappingTable, IsAsTheHeaderSays) {
  Comparison<HipMappingTable> compare;
  EXPECT_EQ(compare.differ<decltype(hipMemGetAllocationGranularity)>("hipMemGetAllocationGranularity",
                                                                     &HipMappingTable::granularity),
            "");
  EXPECT_EQ(compare.differ<decltype(hipMemCreate)>("hipMemCreate", &HipMappingTable::create), "");
  EXPECT_EQ(compare.differ<decltype(hipMemRelease)>("hipMemRelease", &HipMappingTable::release), "");
  EXPECT_EQ(compare.differ<decltype(hipMemExportToShareableHandle)>("hipMemExportToShareableHandle",
                                                                    &HipMappingTable::to_file),
            "");
  EXPECT_EQ(compare.differ<decltype(hipMemImportFromShareableHandle)>("hipMemImportFromShareableHandle",
                                                                      &HipMappingTable::from_file),
            "");
  EXPECT_EQ(compare.differ<decltype(hipMemAddressReserve)>("hipMemAddressReserve", &HipMappingTable::reserve),
            "");
  EXPECT_EQ(compare.differ<decltype(hipMemAddressFree)>("hipMemAddressFree", &HipMappingTable::forsake), "");
  EXPECT_EQ(compare.differ<decltype(hipMemMap)>("hipMemMap", &HipMappingTable::map), "");
  EXPECT_EQ(compare.differ<decltype(hipMemUnmap)>("hipMemUnmap", &HipMappingTable::unmap), "");
  EXPECT_EQ(compare.differ<decltype(hipMemSetAccess)>("hipMemSetAccess", &HipMappingTable::allow), "");
  EXPECT_EQ(compare.left(), "");
#if HIP_VERSION_MAJOR >= 6  // before, it was a draft
  static_assert(sizeof(MappingProperties) == sizeof(hipMemAllocationProp) &&
                offsetof(MappingProperties, handle) == offsetof(hipMemAllocationProp, requestedHandleType) &&
                offsetof(MappingProperties, place) == offsetof(hipMemAllocationProp, location));
#endif
  static_assert(sizeof(MappingPlace) == sizeof(hipMemLocation) &&
                sizeof(MappingAccess) == sizeof(hipMemAccessDesc) &&
                offsetof(MappingAccess, access) == offsetof(hipMemAccessDesc, flags));
  static_assert(kFileHandle == hipMemHandleTypePosixFileDescriptor &&
                kBestGranularity == hipMemAllocationGranularityRecommended);
  EXPECT_EQ(MappingPlace().kind, static_cast<int>(hipMemLocationTypeDevice));
  EXPECT_EQ(MappingProperties().kind, static_cast<int>(hipMemAllocationTypePinned));
  EXPECT_EQ(MappingAccess().access, static_cast<int>(hipMemAccessFlagsProtReadWrite));
}

}  // namespace
}  // namespace weir::drivers
