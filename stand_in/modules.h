// SPDX-License-Identifier: Apache-2.0
/// Modules and kernels of the stand-in: a kernel is a function of a library for the host, found by its name.
///
/// The library is the one that WEIR_FAKE_GPU_KERNELS names, whatever the image holds; an image that begins
/// with "fake-gpu-module:" names it itself. It exports, for a kernel NAME with one argument,
///   extern "C" void NAME(const void* argument, uint32_t block, uint32_t grid);   // one block, in a thread
///   of its own extern "C" const size_t NAME_argument_bytes;
/// Blocks begin as far as multiprocessors have room for them (multiprocessors.h).
#pragma once

#include <cstddef>

#include "stand_in/streams.h"

namespace fake {

struct Module {
  void* library = nullptr;
};
struct Kernel {
  void (*function)(const void*, uint32_t, uint32_t) = nullptr;
  size_t argument_bytes = 0;
};

int load_module(const void* image, Module** module);
int unload_module(Module* module);
int find_kernel(Module* module, const char* name, Kernel** kernel);
int launch_kernel(const Kernel* kernel, const unsigned grid[3], const unsigned block[3], size_t shared_bytes,
                  void** arguments, const std::shared_ptr<Stream>& stream);

}  // namespace fake
