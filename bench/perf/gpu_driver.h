// SPDX-License-Identifier: Apache-2.0
/// GpuDriver: what the bench needs of a vendor's driver, found by name at run time, so that one program
/// serves machines with CUDA, with HIP, and with neither.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <string>

#include "bench/perf/outcome.h"

namespace weir::perf {

/// Functions that mean the same in libcuda.so.1 and libamdhip64.so; a vendor's are null where it has another
/// one. Addresses of device memory are pointers here: CUDA's are integers of the same size.
struct GpuCalls {
  int (*init)(unsigned) = nullptr;
  int (*error_text)(int, const char**) = nullptr;  ///< CUDA's
  const char* (*error_words)(int) = nullptr;       ///< HIP's
  int (*count)(int*) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*address)(char*, int, int) = nullptr;
  int (*retain)(void**, int) = nullptr;  ///< CUDA: the context of a GPU ...
  int (*make_current)(void*) = nullptr;  ///< ... which is the thread's from then on
  int (*set_device)(int) = nullptr;      ///< HIP: both
  int (*memory_info)(size_t*, size_t*) = nullptr;
  int (*allocate)(void**, size_t) = nullptr;
  int (*free)(void*) = nullptr;
  int (*copy)(void*, const void*, size_t, void*) = nullptr;               ///< CUDA's
  int (*copy_of_kind)(void*, const void*, size_t, int, void*) = nullptr;  ///< HIP's
  int (*create_stream)(void**, unsigned) = nullptr;
  int (*destroy_stream)(void*) = nullptr;
  int (*synchronize)(void*) = nullptr;
  int (*begin_capture)(void*, int) = nullptr;
  int (*end_capture)(void*, void**) = nullptr;
  int (*instantiate)(void**, void*, unsigned long long) = nullptr;
  int (*launch_graph)(void*, void*) = nullptr;
  int (*destroy_instance)(void*) = nullptr;
  int (*destroy_graph)(void*) = nullptr;
};

/// Loaded for good. Thread-safe; what a thread makes current is its own.
class GpuDriver {
 public:
  /// `vendor`: cuda or hip. Fails with a sentence where the driver or its GPUs are missing.
  static Outcome load(const std::string& vendor, std::unique_ptr<GpuDriver>* driver);

  const GpuCalls& calls() const { return calls_; }
  int count() const { return count_; }
  /// Makes the GPU current for the calling thread; communicators are made on it.
  Outcome select(int gpu) const;
  /// Between any two addresses, in the order of the stream.
  Outcome copy(void* to, const void* from, size_t bytes, void* stream) const;
  /// A failure with the driver's words, or none for 0. `call`: what was tried, such as "allocating 8 bytes".
  Outcome checked(int code, const std::string& call,
                  std::source_location where = std::source_location::current()) const;

 private:
  explicit GpuDriver(std::string vendor) : vendor_(std::move(vendor)) {}
  Outcome find_calls(void* library);

  const std::string vendor_;
  GpuCalls calls_;
  int count_ = 0;
};

}  // namespace weir::perf
