// SPDX-License-Identifier: Apache-2.0
/// Library calls that return Status values, and handles that free themselves.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "weir/grains.h"
#include "weir/stream.h"

namespace weir::trainer::gpu {
class GpuOps;
}  // namespace weir::trainer::gpu

namespace weir::shard {

using trainer::gpu::GpuOps;  ///< the Ops of an object's GPU; null: the host

/// The result of a call of nccl.h or weir/stream.h: success, or its code and "`what`: message of the
/// library".
Status checked(int result, std::string_view what);

/// A stream of the host or of a GPU. The destructor waits for queued work. Movable; used by one thread at a
/// time.
class Stream {
 public:
  static Result<Stream> make(GpuOps* gpu = nullptr);
  Stream(Stream&& other) noexcept : gpu_(other.gpu_), stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  /// The stream's first error, or success. Collectives on a GPU report errors through their communicator.
  Status status(std::string_view what) const;
  GpuOps* gpu() const { return gpu_; }
  /// REQUIRES: a host stream.
  weirStream_t handle() const { return stream_; }
  cudaStream_t cuda() const { return reinterpret_cast<cudaStream_t>(stream_); }

 private:
  Stream(GpuOps* gpu, weirStream_t stream) : gpu_(gpu), stream_(stream) {}
  GpuOps* gpu_;
  weirStream_t stream_;  ///< the host stream, or the GPU's stream
};

/// A position in a stream. Movable; used by one thread at a time.
class Event {
 public:
  static Result<Event> make(GpuOps* gpu = nullptr);
  Event(Event&& other) noexcept : gpu_(other.gpu_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  Status record(const Stream& stream);
  /// Marks the current position of the stream.
  Status record_now();
  /// Waits until the position is reached.
  Status synchronize(std::string_view what) const;
  /// Milliseconds from this event to another; both must have been reached.
  static Result<float> elapsed(const Event& begin, const Event& end, std::string_view what);
  /// REQUIRES: both events are of host streams.
  weirEvent_t handle() const { return event_; }

 private:
  Event(GpuOps* gpu, weirEvent_t event) : gpu_(gpu), event_(event) {}
  GpuOps* gpu_;
  weirEvent_t event_;  ///< the host event, or the GPU's event
};

/// A communicator that is destroyed with its owner, or aborted after abort(). Empty when default-constructed.
class Communicator {
 public:
  Communicator() = default;
  /// As ncclCommSplit: waits for all ranks of `parent`. `name` appears in messages of the library.
  static Result<Communicator> split(ncclComm_t parent, int color, int key, const char* name);
  Communicator(Communicator&& other) noexcept : comm_(std::exchange(other.comm_, nullptr)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~Communicator();

  /// Ends calls in flight with an error, for every thread; the communicator no longer exists afterwards.
  void abort();
  /// The error of queued calls, or success.
  Status status(std::string_view what) const;
  ncclComm_t handle() const { return comm_; }

 private:
  explicit Communicator(ncclComm_t comm) : comm_(comm) {}
  ncclComm_t comm_ = nullptr;
};

/// Owns a weirGrainSum_t; see weir/grains.h for the functions. Movable; used by one thread at a time.
class GrainSum {
 public:
  static Result<GrainSum> make(ncclComm_t comm, size_t elements,
                               const std::vector<weirElementRange_t>& pieces);
  GrainSum(GrainSum&& other) noexcept : sum_(std::exchange(other.sum_, nullptr)) {}
  GrainSum& operator=(GrainSum&&) = delete;
  ~GrainSum();

  weirGrainSum_t handle() const { return sum_; }

 private:
  explicit GrainSum(weirGrainSum_t sum) : sum_(sum) {}
  weirGrainSum_t sum_;
};

/// Memory that processes on the same machine can map (ncclMemAlloc), or GPU memory; zeroed. Movable.
class Memory {
 public:
  Memory() = default;
  static Result<Memory> allocate(size_t bytes, GpuOps* gpu = nullptr);
  Memory(Memory&& other) noexcept
      : gpu_(other.gpu_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory();

  char* data() const { return static_cast<char*>(data_); }
  float* floats() const { return static_cast<float*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  Memory(GpuOps* gpu, void* data, size_t bytes) : gpu_(gpu), data_(data), bytes_(bytes) {}
  GpuOps* gpu_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace weir::shard
