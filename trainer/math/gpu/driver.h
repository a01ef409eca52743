// SPDX-License-Identifier: Apache-2.0
/// The functions of the CUDA driver that the trainer calls, loaded from libcuda.so.1 at run time; names and
/// types follow its ABI. Streams, events and contexts are opaque pointers, GPU addresses are numbers, error
/// codes are CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/status.h"

namespace weir::trainer::gpu {

/// A library that stays loaded until the process ends: its own threads may run its code.
class Library {
 public:
  /// Loads the first of the names that can be loaded; system_error with the loader's reason for the last one.
  static Result<Library> open(std::initializer_list<std::string> names);

  /// Looks up a function; false if there is no such name.
  template <typename Function>
  bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address(name));
    return function != nullptr;
  }
  /// The address of a function or a variable; null if there is no such name.
  void* address(const char* name) const;

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
};

using Address = unsigned long long;

struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*context_retain)(void**, int) = nullptr;
  int (*context_set)(void*) = nullptr;
  int (*memory_info)(size_t*, size_t*) = nullptr;
  int (*allocate)(Address*, size_t) = nullptr;
  int (*free)(Address) = nullptr;
  int (*copy)(Address, Address, size_t, void*) = nullptr;
  int (*fill)(Address, unsigned char, size_t, void*) = nullptr;
  int (*stream_create)(void**, unsigned) = nullptr;
  int (*stream_destroy)(void*) = nullptr;
  int (*stream_synchronize)(void*) = nullptr;
  int (*event_create)(void**, unsigned) = nullptr;
  int (*event_destroy)(void*) = nullptr;
  int (*event_record)(void*, void*) = nullptr;
  int (*event_synchronize)(void*) = nullptr;
  int (*event_elapsed)(float*, void*, void*) = nullptr;
  int (*module_load)(void**, const void*) = nullptr;
  int (*module_function)(void**, void*, const char*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;

  /// Loads and initialises the driver. system_error with a sentence if there is none or it fails to start.
  static Result<Driver> load();
  /// Success, or system_error: "`what`: CUDA_ERROR_...: ...".
  Status checked(int code, const std::string& what) const;
};

}  // namespace weir::trainer::gpu
