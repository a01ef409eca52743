// SPDX-License-Identifier: Apache-2.0
/// What the stand-in's libcudart calls of its libcuda.
#pragma once

#include <cstddef>

using Address = unsigned long long;
struct IpcHandle {
  char bytes[64];
};

extern "C" {
int cuInit(unsigned);
int cuDriverGetVersion(int*);
int cuGetErrorName(int, const char**);
int cuGetErrorString(int, const char**);
int cuDeviceGetCount(int*);
int cuDeviceGet(int*, int);
int cuDeviceGetPCIBusId(char*, int, int);
int cuDeviceCanAccessPeer(int*, int, int);
int cuDeviceGetAttribute(int*, int, int);
int cuDeviceGetName(char*, int, int);
int cuDeviceGetUuid_v2(unsigned char*, int);
int cuCtxEnablePeerAccess(void*, unsigned);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxGetCurrent(void**);
int cuCtxSetCurrent(void*);
int cuCtxSynchronize();
int cuMemAlloc_v2(Address*, size_t);
int cuMemGetInfo_v2(size_t* left, size_t* whole);
int cuMemAllocManaged(Address*, size_t, unsigned);
int cuMemFree_v2(Address);
int cuMemHostAlloc(void**, size_t, unsigned);
int cuMemFreeHost(void*);
int cuMemcpyAsync(Address, Address, size_t, void*);
int cuMemcpy(Address, Address, size_t);
int cuMemsetD8Async(Address, unsigned char, size_t, void*);
int cuMemHostRegister_v2(void*, size_t, unsigned);
int cuMemHostUnregister(void*);
int cuPointerGetAttributes(unsigned, int*, void**, Address);
int cuIpcGetMemHandle(void*, Address);
int cuIpcOpenMemHandle_v2(Address*, IpcHandle, unsigned);
int cuIpcCloseMemHandle(Address);
int cuIpcGetEventHandle(void*, void*);
int cuIpcOpenEventHandle(void**, IpcHandle);
int cuEventElapsedTime_v2(float*, void*, void*);
int cuStreamCreate(void**, unsigned);
int cuStreamDestroy_v2(void*);
int cuStreamSynchronize(void*);
int cuStreamQuery(void*);
int cuStreamWaitEvent(void*, void*, unsigned);
int cuStreamBeginCapture_v2(void*, int);
int cuStreamEndCapture(void*, void**);
int cuStreamIsCapturing(void*, int*);
int cuThreadExchangeStreamCaptureMode(int*);
int cuLaunchHostFunc(void*, void (*)(void*), void*);
int cuGraphInstantiateWithFlags(void**, void*, unsigned long long);
int cuGraphLaunch(void*, void*);
int fake_capture_info(void* stream, int* state, unsigned long long* number, void** graph);
void fake_graph_keep(void* graph, void* object, void (*release)(void*));
int cuGraphExecDestroy(void*);
int cuGraphDestroy(void*);
int cuEventCreate(void**, unsigned);
int cuEventDestroy_v2(void*);
int cuEventRecord(void*, void*);
int cuEventQuery(void*);
int cuEventSynchronize(void*);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* kernel, int threads, size_t shared);
}
