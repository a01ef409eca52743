// SPDX-License-Identifier: Apache-2.0
// libcudart.so of the stand-in, over its driver: what programs written for CUDA's runtime call. The first GPU
// is a thread's until it chooses another; a call makes its primary context current.
#include <cstdint>
#include <cstdio>

#include "stand_in/runtime.h"

namespace fake {
namespace {

thread_local int last_error = 0;
thread_local int chosen = 0;

}  // namespace

int keep(int code) {
  if (code != 0) last_error = code;
  return code;
}

int ready() {
  if (const int code = cuInit(0); code != 0) return keep(code);
  void *current = nullptr, *wanted = nullptr;
  if (const int code = cuDevicePrimaryCtxRetain(&wanted, chosen); code != 0) return keep(code);
  cuCtxGetCurrent(&current);
  return current == wanted ? 0 : keep(cuCtxSetCurrent(wanted));
}

}  // namespace fake

using namespace fake;

extern "C" {

int cudaGetLastError() {
  const int code = last_error;
  return last_error = 0, code;
}
int cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(int code) {
  const char* name = nullptr;
  cuGetErrorName(code, &name);
  return name != nullptr ? name : "unrecognized error code";
}
const char* cudaGetErrorString(int code) {
  const char* text = nullptr;
  cuGetErrorString(code, &text);
  return text != nullptr ? text : "unrecognized error code";
}
int cudaDriverGetVersion(int* version) { return cuDriverGetVersion(version); }
int cudaRuntimeGetVersion(int* version) { return cuDriverGetVersion(version); }
int cudaGetDeviceCount(int* count) {
  const int code = cuInit(0);
  *count = 0;
  return keep(code != 0 ? code : cuDeviceGetCount(count));
}
int cudaGetDevice(int* device) { return *device = chosen, 0; }
int cudaSetDevice(int device) {
  int same = 0;
  if (const int code = cuInit(0); code != 0) return keep(code);
  if (const int code = cuDeviceGet(&same, device); code != 0) return keep(code);
  chosen = device;
  return ready();
}
int cudaDeviceSynchronize() { return ready() != 0 ? last_error : keep(cuCtxSynchronize()); }
int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return ready() != 0 ? last_error : keep(cuDeviceCanAccessPeer(can, device, peer));
}
int cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return ready() != 0 ? last_error : keep(cuDeviceGetPCIBusId(text, bytes, device));
}

int cudaMalloc(void** memory, size_t bytes) {
  if (ready() != 0) return last_error;
  Address address = 0;
  const int code = cuMemAlloc_v2(&address, bytes);
  return *memory = reinterpret_cast<void*>(address), keep(code);
}
int cudaMemGetInfo(size_t* left, size_t* whole) {
  return ready() != 0 ? last_error : keep(cuMemGetInfo_v2(left, whole));
}
int cudaMallocManaged(void** memory, size_t bytes, unsigned flags) {
  if (ready() != 0) return last_error;
  Address address = 0;
  const int code = cuMemAllocManaged(&address, bytes, flags);
  return *memory = reinterpret_cast<void*>(address), keep(code);
}
int cudaFree(void* memory) { return ready() != 0 ? last_error : keep(cuMemFree_v2(address_of(memory))); }
int cudaHostAlloc(void** memory, size_t bytes, unsigned flags) {
  return ready() != 0 ? last_error : keep(cuMemHostAlloc(memory, bytes, flags));
}
int cudaMallocHost(void** memory, size_t bytes) { return cudaHostAlloc(memory, bytes, 0); }
int cudaFreeHost(void* memory) { return ready() != 0 ? last_error : keep(cuMemFreeHost(memory)); }
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, void* stream) {
  return ready() != 0 ? last_error : keep(cuMemcpyAsync(address_of(to), address_of(from), bytes, stream));
}
int cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  return ready() != 0 ? last_error : keep(cuMemcpy(address_of(to), address_of(from), bytes));
}
int cudaMemsetAsync(void* to, int value, size_t bytes, void* stream) {
  return ready() != 0
             ? last_error
             : keep(cuMemsetD8Async(address_of(to), static_cast<unsigned char>(value), bytes, stream));
}
int cudaMemset(void* to, int value, size_t bytes) {
  const int code = cudaMemsetAsync(to, value, bytes, nullptr);
  return code != 0 ? code : keep(cuStreamSynchronize(nullptr));
}

int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return ready() != 0 ? last_error : keep(cuStreamCreate(stream, flags));
}
int cudaStreamCreate(void** stream) { return cudaStreamCreateWithFlags(stream, 0); }
int cudaStreamCreateWithPriority(void** stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
int cudaStreamDestroy(void* stream) { return ready() != 0 ? last_error : keep(cuStreamDestroy_v2(stream)); }
int cudaStreamSynchronize(void* stream) {
  return ready() != 0 ? last_error : keep(cuStreamSynchronize(stream));
}
int cudaStreamQuery(void* stream) { return ready() != 0 ? last_error : keep(cuStreamQuery(stream)); }
int cudaStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return ready() != 0 ? last_error : keep(cuStreamWaitEvent(stream, event, flags));
}
int cudaStreamBeginCapture(void* stream, int mode) {
  return ready() != 0 ? last_error : keep(cuStreamBeginCapture_v2(stream, mode));
}
int cudaStreamEndCapture(void* stream, void** graph) {
  return ready() != 0 ? last_error : keep(cuStreamEndCapture(stream, graph));
}
int cudaStreamIsCapturing(void* stream, int* state) {
  return ready() != 0 ? last_error : keep(cuStreamIsCapturing(stream, state));
}
int cudaThreadExchangeStreamCaptureMode(int* mode) { return keep(cuThreadExchangeStreamCaptureMode(mode)); }
int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* argument) {
  return ready() != 0 ? last_error : keep(cuLaunchHostFunc(stream, function, argument));
}
int cudaGraphUpload(void*, void*) { return 0; }  // there is nothing to prepare
int cudaGraphInstantiate(void** run, void* graph, unsigned long long flags) {
  return keep(cuGraphInstantiateWithFlags(run, graph, flags));
}
int cudaGraphLaunch(void* run, void* stream) {
  return ready() != 0 ? last_error : keep(cuGraphLaunch(run, stream));
}
int cudaGraphExecDestroy(void* run) { return keep(cuGraphExecDestroy(run)); }
int cudaGraphDestroy(void* graph) { return keep(cuGraphDestroy(graph)); }

int cudaEventCreateWithFlags(void** event, unsigned flags) {
  return ready() != 0 ? last_error : keep(cuEventCreate(event, flags));
}
int cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }
int cudaEventDestroy(void* event) { return keep(cuEventDestroy_v2(event)); }
int cudaEventRecord(void* event, void* stream) {
  return ready() != 0 ? last_error : keep(cuEventRecord(event, stream));
}
int cudaEventQuery(void* event) { return keep(cuEventQuery(event)); }
int cudaEventSynchronize(void* event) { return keep(cuEventSynchronize(event)); }
}
