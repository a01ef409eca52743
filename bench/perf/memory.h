// SPDX-License-Identifier: Apache-2.0
/// Memory: a rank's buffers, and the stream of its operations. Devices: the devices of a run.
///
/// Nothing here is called between the clock readings of a timed loop, except synchronize() once at its end
/// and Graph::launch().
#pragma once

#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "bench/perf/outcome.h"

namespace weir::perf {

inline constexpr size_t kPage = 4096;
/// Rounds up to whole pages, at least one.
constexpr size_t whole_pages(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
}

/// The work that a rank's stream got between begin() and end(); may be launched any number of times.
class Graph {
 public:
  virtual ~Graph() = default;

  virtual Outcome begin() = 0;
  /// Ends the capture.
  virtual Outcome end() = 0;
  /// Makes what was captured launchable, in place of the previous one. Drivers refuse this while the calling
  /// thread captures another stream.
  virtual Outcome prepare() = 0;
  /// Launches on the rank's stream; does not wait.
  virtual Outcome launch() = 0;
};

/// Buffers of one rank; used by one thread at a time.
class Memory {
 public:
  virtual ~Memory() = default;

  /// Makes the device current for the calling thread, for which communicators are created on it.
  virtual Outcome select() { return Outcome(); }
  /// Page-aligned. `by_library`: allocated with ncclMemAlloc, so that it can be registered with a
  /// communicator, and peers may map it.
  virtual Outcome allocate(size_t bytes, bool by_library, void** out) = 0;
  /// REQUIRES: pointer from allocate() with the same `by_library`, or null.
  virtual void release(void* pointer, bool by_library) = 0;
  /// Copies between host or device memory in the order of the stream. Complete after synchronize(); until
  /// then neither buffer may change.
  virtual Outcome copy(void* to, const void* from, size_t bytes) = 0;

  virtual cudaStream_t stream() const = 0;
  /// Returns when everything on the stream has completed.
  virtual Outcome synchronize() = 0;
  /// Null if the stream cannot be captured. Lives as long as this object.
  virtual Graph* graph() { return nullptr; }
};

/// The devices of this process. Thread-safe.
class Devices {
 public:
  virtual ~Devices() = default;

  /// Number of GPUs; 0 for host memory, which any number of ranks may share.
  virtual int count() const = 0;
  /// Description such as "[0000:00:00] weir host"; equal for ranks of one host that share the memory.
  virtual Outcome describe(int device, std::string* text) const = 0;
  /// Bytes that all ranks of the device together may still allocate.
  virtual Outcome available(int device, size_t* bytes) const = 0;
  /// Opens the memory of a device for one rank. This object outlives it.
  virtual Outcome open(int device, std::unique_ptr<Memory>* memory) const = 0;

  /// Device of the rank with this number on its host; ranks are distributed round-robin.
  int of(int local_rank) const { return count() == 0 ? local_rank : local_rank % count(); }
};

/// Host memory; calls on the null stream complete before they return.
std::unique_ptr<Devices> host_devices();

/// `vendor`: cuda or hip. `null_stream`: ranks use stream 0 of their GPU.
Outcome gpu_devices(const std::string& vendor, bool null_stream, std::unique_ptr<Devices>* devices);

/// One line in which the library describes itself and the machine; empty if it is not weir.
std::string library_description();

}  // namespace weir::perf
