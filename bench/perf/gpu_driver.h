// SPDX-License-Identifier: Apache-2.0
/// GpuDriver: the functions of a vendor's driver that the bench needs, loaded by name at run time, so that
/// one program supports machines with CUDA, with HIP, and without GPUs.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <string>

#include "bench/perf/outcome.h"

namespace weir::perf {

/// Functions with the same meaning in libcuda.so.1 and libamdhip64.so; null if a vendor has another function
/// instead. Addresses of device memory are pointers here: CUDA's are integers of the same size.
struct GpuCalls {
  int (*init)(unsigned) = nullptr;
  int (*error_text)(int, const char**) = nullptr;  ///< CUDA only
  const char* (*error_words)(int) = nullptr;       ///< HIP only
  int (*count)(int*) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*address)(char*, int, int) = nullptr;
  int (*retain)(void**, int) = nullptr;  ///< CUDA: gets the context of a GPU
  int (*make_current)(void*) = nullptr;  ///< CUDA: makes the context current for the calling thread
  int (*set_device)(int) = nullptr;      ///< HIP: selects the GPU for the calling thread
  int (*memory_info)(size_t*, size_t*) = nullptr;
  int (*allocate)(void**, size_t) = nullptr;
  int (*free)(void*) = nullptr;
  int (*copy)(void*, const void*, size_t, void*) = nullptr;               ///< CUDA only
  int (*copy_of_kind)(void*, const void*, size_t, int, void*) = nullptr;  ///< HIP only
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

/// Never unloaded. Thread-safe; each thread has its own current GPU.
class GpuDriver {
 public:
  /// `vendor`: cuda or hip. Fails with the reason if the driver or its GPUs are missing.
  static Outcome load(const std::string& vendor, std::unique_ptr<GpuDriver>* driver);

  const GpuCalls& calls() const { return calls_; }
  int count() const { return count_; }
  /// Makes the GPU current for the calling thread, for which communicators are created on it.
  Outcome select(int gpu) const;
  /// Copies between any two addresses, in the order of the stream.
  Outcome copy(void* to, const void* from, size_t bytes, void* stream) const;
  /// Returns a failure with the driver's error text, or success for 0. `call`: the attempted operation, such
  /// as "allocating 8 bytes".
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
