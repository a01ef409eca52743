// SPDX-License-Identifier: Apache-2.0
// Compares the table's names and types with those of the vendor's header.
#include "src/drivers/cuda_table.h"

#include <gtest/gtest.h>

#include <cuda.h>

#include "src/drivers/direct_table.h"
#include "src/drivers/mapping_table.h"
#include "tests/drivers/same_call.h"

namespace weir::drivers {
namespace {

void compare_first(Comparison<CudaTable>& compare) {
  EXPECT_EQ(compare.differ<decltype(cuInit)>("cuInit", &CudaTable::init), "");
  EXPECT_EQ(compare.differ<decltype(cuGetErrorName)>("cuGetErrorName", &CudaTable::error_name), "");
  EXPECT_EQ(compare.differ<decltype(cuGetErrorString)>("cuGetErrorString", &CudaTable::error_string), "");
  EXPECT_EQ(compare.differ<decltype(cuDeviceGetCount)>("cuDeviceGetCount", &CudaTable::device_count), "");
  EXPECT_EQ(compare.differ<decltype(cuDeviceGetName)>("cuDeviceGetName", &CudaTable::device_name), "");
  EXPECT_EQ(compare.differ<decltype(cuDeviceGetPCIBusId)>("cuDeviceGetPCIBusId", &CudaTable::device_address),
            "");
  EXPECT_EQ(
      compare.differ<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute", &CudaTable::device_attribute),
      "");
  EXPECT_EQ(compare.differ<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain",
                                                               &CudaTable::context_retain),
            "");
  EXPECT_EQ(compare.differ<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent", &CudaTable::context_current), "");
  EXPECT_EQ(compare.differ<decltype(cuCtxGetDevice)>("cuCtxGetDevice", &CudaTable::context_device), "");
  EXPECT_EQ(compare.differ<decltype(cuCtxPushCurrent_v2)>("cuCtxPushCurrent_v2", &CudaTable::context_push),
            "");
  EXPECT_EQ(compare.differ<decltype(cuCtxPopCurrent_v2)>("cuCtxPopCurrent_v2", &CudaTable::context_pop), "");
  EXPECT_EQ(compare.differ<decltype(cuCtxEnablePeerAccess)>("cuCtxEnablePeerAccess",
                                                            &CudaTable::enable_peer_access),
            "");
  EXPECT_EQ(
      compare.differ<decltype(cuDeviceCanAccessPeer)>("cuDeviceCanAccessPeer", &CudaTable::can_access_peer),
      "");
  EXPECT_EQ(compare.differ<decltype(cuModuleLoadData)>("cuModuleLoadData", &CudaTable::module_load), "");
  EXPECT_EQ(compare.differ<decltype(cuModuleUnload)>("cuModuleUnload", &CudaTable::module_unload), "");
  EXPECT_EQ(compare.differ<decltype(cuModuleGetFunction)>("cuModuleGetFunction", &CudaTable::module_function),
            "");
  EXPECT_EQ(compare.differ<decltype(cuOccupancyMaxActiveBlocksPerMultiprocessor)>(
                "cuOccupancyMaxActiveBlocksPerMultiprocessor", &CudaTable::resident_blocks),
            "");
  EXPECT_EQ(compare.differ<decltype(cuLaunchKernel)>("cuLaunchKernel", &CudaTable::launch), "");
  EXPECT_EQ(compare.differ<decltype(cuMemAlloc_v2)>("cuMemAlloc_v2", &CudaTable::mem_alloc), "");
  EXPECT_EQ(compare.differ<decltype(cuMemAllocManaged)>("cuMemAllocManaged", &CudaTable::mem_alloc_managed),
            "");
  EXPECT_EQ(compare.differ<decltype(cuMemFree_v2)>("cuMemFree_v2", &CudaTable::mem_free), "");
  EXPECT_EQ(compare.differ<decltype(cuMemHostAlloc)>("cuMemHostAlloc", &CudaTable::mem_host_alloc), "");
  EXPECT_EQ(
      compare.differ<decltype(cuMemHostRegister_v2)>("cuMemHostRegister_v2", &CudaTable::mem_host_register),
      "");
  EXPECT_EQ(
      compare.differ<decltype(cuMemHostUnregister)>("cuMemHostUnregister", &CudaTable::mem_host_unregister),
      "");
}

void compare_second(Comparison<CudaTable>& compare) {
  EXPECT_EQ(compare.differ<decltype(cuMemFreeHost)>("cuMemFreeHost", &CudaTable::mem_host_free), "");
  EXPECT_EQ(compare.differ<decltype(cuMemHostGetDevicePointer_v2)>("cuMemHostGetDevicePointer_v2",
                                                                   &CudaTable::mem_host_address),
            "");
  EXPECT_EQ(
      compare.differ<decltype(cuMemGetAddressRange_v2)>("cuMemGetAddressRange_v2", &CudaTable::mem_range),
      "");
  EXPECT_EQ(compare.differ<decltype(cuPointerGetAttributes)>("cuPointerGetAttributes",
                                                             &CudaTable::pointer_attributes),
            "");
  EXPECT_EQ(compare.differ<decltype(cuMemcpyAsync)>("cuMemcpyAsync", &CudaTable::copy), "");
  EXPECT_EQ(compare.differ<decltype(cuIpcGetMemHandle)>("cuIpcGetMemHandle", &CudaTable::ipc_mem_handle), "");
  EXPECT_EQ(
      compare.differ<decltype(cuIpcOpenMemHandle_v2)>("cuIpcOpenMemHandle_v2", &CudaTable::ipc_mem_open), "");
  EXPECT_EQ(compare.differ<decltype(cuIpcCloseMemHandle)>("cuIpcCloseMemHandle", &CudaTable::ipc_mem_close),
            "");
  EXPECT_EQ(compare.differ<decltype(cuStreamCreate)>("cuStreamCreate", &CudaTable::stream_create), "");
  EXPECT_EQ(compare.differ<decltype(cuStreamDestroy_v2)>("cuStreamDestroy_v2", &CudaTable::stream_destroy),
            "");
  EXPECT_EQ(
      compare.differ<decltype(cuStreamSynchronize)>("cuStreamSynchronize", &CudaTable::stream_synchronize),
      "");
  EXPECT_EQ(compare.differ<decltype(cuStreamGetCtx)>("cuStreamGetCtx", &CudaTable::stream_context), "");
  EXPECT_EQ(
      compare.differ<decltype(cuStreamIsCapturing)>("cuStreamIsCapturing", &CudaTable::stream_capturing), "");
  EXPECT_EQ(compare.differ<decltype(cuStreamWaitEvent)>("cuStreamWaitEvent", &CudaTable::stream_wait_event),
            "");
  EXPECT_EQ(compare.differ<decltype(cuThreadExchangeStreamCaptureMode)>("cuThreadExchangeStreamCaptureMode",
                                                                        &CudaTable::exchange_capture_mode),
            "");
  EXPECT_EQ(compare.differ<decltype(cuLaunchHostFunc)>("cuLaunchHostFunc", &CudaTable::launch_host), "");
  EXPECT_EQ(compare.differ<decltype(cuEventCreate)>("cuEventCreate", &CudaTable::event_create), "");
  EXPECT_EQ(compare.differ<decltype(cuEventDestroy_v2)>("cuEventDestroy_v2", &CudaTable::event_destroy), "");
  EXPECT_EQ(compare.differ<decltype(cuEventRecord)>("cuEventRecord", &CudaTable::event_record), "");
  EXPECT_EQ(
      compare.differ<decltype(cuIpcGetEventHandle)>("cuIpcGetEventHandle", &CudaTable::ipc_event_handle), "");
  EXPECT_EQ(
      compare.differ<decltype(cuIpcOpenEventHandle)>("cuIpcOpenEventHandle", &CudaTable::ipc_event_open), "");
  EXPECT_EQ(
      compare.differ<decltype(cuStreamWriteValue32_v2)>("cuStreamWriteValue32_v2", &CudaTable::write_value),
      "");
  EXPECT_EQ(
      compare.differ<decltype(cuStreamWaitValue32_v2)>("cuStreamWaitValue32_v2", &CudaTable::wait_value), "");
}

TEST(CudaTable, IsAsTheHeaderSays) {
  Comparison<CudaTable> compare;
  compare_first(compare);
  compare_second(compare);
  EXPECT_EQ(compare.left(), "");
}

TEST(CudaDirectTable, IsAsTheHeaderSays) {
  Comparison<CudaDirectTable> compare;
  EXPECT_EQ(compare.differ<decltype(cuMemGetHandleForAddressRange)>("cuMemGetHandleForAddressRange",
                                                                    &CudaDirectTable::to_dmabuf),
            "");
  EXPECT_EQ(compare.differ<decltype(cuFlushGPUDirectRDMAWrites)>("cuFlushGPUDirectRDMAWrites",
                                                                 &CudaDirectTable::flush),
            "");
  EXPECT_EQ(compare.left(), "");
  static_assert(kDmabufHandle == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD &&
                kFlushOptions == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS &&
                kWritesOrdering == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
  static_assert(kOrderedForOwner == CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER &&
                kCurrentContext == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX &&
                kToOwner == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
                CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST == 1);
}

TEST(CudaMappingTable, IsAsTheHeaderSays) {
  Comparison<CudaMappingTable> compare;
  EXPECT_EQ(compare.differ<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity",
                                                                    &CudaMappingTable::granularity),
            "");
  EXPECT_EQ(compare.differ<decltype(cuMemCreate)>("cuMemCreate", &CudaMappingTable::create), "");
  EXPECT_EQ(compare.differ<decltype(cuMemRelease)>("cuMemRelease", &CudaMappingTable::release), "");
  EXPECT_EQ(compare.differ<decltype(cuMemExportToShareableHandle)>("cuMemExportToShareableHandle",
                                                                   &CudaMappingTable::to_file),
            "");
  EXPECT_EQ(compare.differ<decltype(cuMemImportFromShareableHandle)>("cuMemImportFromShareableHandle",
                                                                     &CudaMappingTable::from_file),
            "");
  EXPECT_EQ(compare.differ<decltype(cuMemAddressReserve)>("cuMemAddressReserve", &CudaMappingTable::reserve),
            "");
  EXPECT_EQ(compare.differ<decltype(cuMemAddressFree)>("cuMemAddressFree", &CudaMappingTable::forsake), "");
  EXPECT_EQ(compare.differ<decltype(cuMemMap)>("cuMemMap", &CudaMappingTable::map), "");
  EXPECT_EQ(compare.differ<decltype(cuMemUnmap)>("cuMemUnmap", &CudaMappingTable::unmap), "");
  EXPECT_EQ(compare.differ<decltype(cuMemSetAccess)>("cuMemSetAccess", &CudaMappingTable::allow), "");
  EXPECT_EQ(compare.left(), "");
  static_assert(sizeof(MappingProperties) == sizeof(CUmemAllocationProp) &&
                offsetof(MappingProperties, handle) == offsetof(CUmemAllocationProp, requestedHandleTypes) &&
                offsetof(MappingProperties, place) == offsetof(CUmemAllocationProp, location));
  static_assert(sizeof(MappingPlace) == sizeof(CUmemLocation) &&
                sizeof(MappingAccess) == sizeof(CUmemAccessDesc) &&
                offsetof(MappingAccess, access) == offsetof(CUmemAccessDesc, flags));
  static_assert(kFileHandle == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR &&
                kBestGranularity == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  EXPECT_EQ(MappingPlace().kind, static_cast<int>(CU_MEM_LOCATION_TYPE_DEVICE));
  EXPECT_EQ(MappingProperties().kind, static_cast<int>(CU_MEM_ALLOCATION_TYPE_PINNED));
  EXPECT_EQ(MappingAccess().access, static_cast<int>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
}

}  // namespace
}  // namespace weir::drivers
