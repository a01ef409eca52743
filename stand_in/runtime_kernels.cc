// SPDX-License-Identifier: Apache-2.0
// libcudart.so of the stand-in: kernels that nvcc has compiled into a program. They can be registered, which
// happens when a program begins; there is nobody to run them.
#include <cstddef>

#include "stand_in/runtime.h"
#include "stand_in/world.h"

using namespace fake;

namespace {

struct Shape {
  unsigned x, y, z;
};
/// How the thread's next kernel is to be launched.
struct Configuration {
  Shape grid, block;
  size_t shared;
  void* stream;
};
thread_local Configuration pushed;
void* binary = nullptr;

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) { return &binary; }
void __cudaRegisterFatBinaryEnd(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned __cudaPushCallConfiguration(Shape grid, Shape block, size_t shared, void* stream) {
  pushed = {grid, block, shared, stream};
  return 0;
}
int __cudaPopCallConfiguration(Shape* grid, Shape* block, size_t* shared, void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *static_cast<void**>(stream) = pushed.stream;
  return 0;
}
int __cudaGetKernel(const void** kernel, const void* function) { return *kernel = function, 0; }
int __cudaLaunchKernel(const void*, Shape, Shape, void**, size_t, void*) { return keep(kNotSupported); }
int cudaLaunchKernel(const void*, Shape, Shape, void**, size_t, void*) { return keep(kNotSupported); }
int cudaLaunchCooperativeKernel(const void*, Shape, Shape, void**, size_t, void*) {
  return keep(kNotSupported);
}
int cudaLaunchKernelExC(const void*, const void*, void**) { return keep(kNotSupported); }
int cudaFuncGetAttributes(void*, const void*) { return keep(kNotSupported); }
int cudaFuncSetAttribute(const void*, int, int) { return 0; }
int cudaKernelSetAttributeForDevice(const void*, int, int, int) { return 0; }
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t shared) {
  return keep(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, nullptr, threads, shared));
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                           size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

int cudaLibraryLoadData() { return keep(kNotSupported); }
int cudaLibraryLoadFromFile() { return keep(kNotSupported); }
int cudaLibraryUnload() { return keep(kNotSupported); }
int cudaLibraryGetGlobal() { return keep(kNotSupported); }
int cudaLibraryGetKernel() { return keep(kNotSupported); }
int cudaLibraryGetKernelCount() { return keep(kNotSupported); }
int cudaLibraryGetManaged() { return keep(kNotSupported); }
int cudaLibraryGetUnifiedFunction() { return keep(kNotSupported); }
}
