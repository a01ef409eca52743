/// Memory: where a rank's buffers live, and the stream its operations go to.
///
/// Today host memory; a kind of GPU is one more implementation. Nothing here is called between the clock
/// readings of a timed loop, except synchronize() once at its end.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <memory>
#include <string>

#include "bench/perf/outcome.h"

namespace weir::perf {

/// Of one rank; used by one thread at a time.
class Memory {
 public:
  virtual ~Memory() = default;

  /// For people: "[0000:00:00] weir host".
  virtual std::string device() const = 0;
  /// Bytes that all ranks of this host together may still allocate.
  virtual size_t available() const = 0;

  /// Page-aligned. `registrable`: by ncclMemAlloc, so that it can be registered with a communicator.
  virtual Outcome allocate(size_t bytes, bool registrable, void** out) = 0;
  /// REQUIRES: pointer from allocate() with the same `registrable`, or null.
  virtual void release(void* pointer, bool registrable) = 0;
  virtual Outcome write(void* to, const void* from_host, size_t bytes) = 0;
  virtual Outcome read(void* to_host, const void* from, size_t bytes) = 0;

  virtual cudaStream_t stream() const = 0;
  /// Returns when everything on the stream is done.
  virtual Outcome synchronize() = 0;
};

/// Buffers from malloc; calls on the null stream complete before they return.
std::unique_ptr<Memory> host_memory();

/// What the library says about itself and the machine, in one line; empty if it is not weir.
std::string library_description();

}  // namespace weir::perf
