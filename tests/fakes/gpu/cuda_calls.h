// SPDX-License-Identifier: Apache-2.0
/// What the stand-in's libcudart calls of its libcuda.
#pragma once

#include <cstddef>

using Address = unsigned long long;

extern "C" {
int cuInit(unsigned);
int cuDriverGetVersion(int*);
int cuGetErrorName(int, const char**);
int cuGetErrorString(int, const char**);
int cuDeviceGetCount(int*);
int cuDeviceGet(int*, int);
int cuDeviceGetPCIBusId(char*, int, int);
int cuDeviceCanAccessPeer(int*, int, int);
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
int cuGraphExecDestroy(void*);
int cuGraphDestroy(void*);
int cuEventCreate(void**, unsigned);
int cuEventDestroy_v2(void*);
int cuEventRecord(void*, void*);
int cuEventQuery(void*);
int cuEventSynchronize(void*);
}
