// SPDX-License-Identifier: Apache-2.0
/// Memory: where a rank's buffers live, and the stream its operations go to. Devices: those of a run.
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
/// Bytes rounded up to whole pages, at least one.
constexpr size_t whole_pages(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
}

/// What a rank's stream was given between begin() and end(), to be launched as often as one likes.
class Graph {
 public:
  virtual ~Graph() = default;

  virtual Outcome begin() = 0;
  /// What was captured before is gone.
  virtual Outcome end() = 0;
  /// On the rank's stream; does not wait.
  virtual Outcome launch() = 0;
};

/// Of one rank; used by one thread at a time.
class Memory {
 public:
  virtual ~Memory() = default;

  /// Makes its device the calling thread's: communicators are made there.
  virtual Outcome select() { return Outcome(); }
  /// Page-aligned. `registrable`: by ncclMemAlloc, so that it can be registered with a communicator.
  virtual Outcome allocate(size_t bytes, bool registrable, void** out) = 0;
  /// REQUIRES: pointer from allocate() with the same `registrable`, or null.
  virtual void release(void* pointer, bool registrable) = 0;
  /// In the order of the stream, wherever the two lie. Done, and both free to change, after synchronize().
  virtual Outcome copy(void* to, const void* from, size_t bytes) = 0;

  virtual cudaStream_t stream() const = 0;
  /// Returns when everything on the stream is done.
  virtual Outcome synchronize() = 0;
  /// Null: the stream cannot be captured. Lives as long as this object.
  virtual Graph* graph() { return nullptr; }
};

/// The devices of this process. Thread-safe.
class Devices {
 public:
  virtual ~Devices() = default;

  /// 0: host memory, of which any number of ranks have their part.
  virtual int count() const = 0;
  /// For people, "[0000:00:00] weir host"; the same for those who share the memory, on one host.
  virtual Outcome describe(int device, std::string* text) const = 0;
  /// Bytes that all who share the device may still allocate.
  virtual Outcome available(int device, size_t* bytes) const = 0;
  /// This object outlives it.
  virtual Outcome open(int device, std::unique_ptr<Memory>* memory) const = 0;

  /// The device of the rank with this number on its host: in turn, where there are more ranks than GPUs.
  int of(int local_rank) const { return count() == 0 ? local_rank : local_rank % count(); }
};

/// Buffers from malloc; calls on the null stream complete before they return.
std::unique_ptr<Devices> host_devices();

/// `vendor`: cuda or hip. `null_stream`: ranks use the stream 0 of their GPU.
Outcome gpu_devices(const std::string& vendor, bool null_stream, std::unique_ptr<Devices>* devices);

/// What the library says about itself and the machine, in one line; empty if it is not weir.
std::string library_description();

}  // namespace weir::perf
