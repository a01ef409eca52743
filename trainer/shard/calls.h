// SPDX-License-Identifier: Apache-2.0
/// Calls of the library as Status values, and handles that free themselves.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/grains.h"
#include "weir/status.h"
#include "weir/stream.h"

namespace weir::trainer::gpu {
class GpuOps;
}  // namespace weir::trainer::gpu

namespace weir::shard {

using trainer::gpu::GpuOps;  ///< of the GPU that something is on; null: the host

/// The result of a call of nccl.h or weir/stream.h: success, or its code and "`what`: sentence of the
/// library".
Status checked(int result, std::string_view what);

/// A host stream, or one of a GPU. The destructor waits for what is queued. Movable; used by one thread at a
/// time.
class Stream {
 public:
  static Result<Stream> make(GpuOps* gpu = nullptr);
  Stream(Stream&& other) noexcept : gpu_(other.gpu_), stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  /// Its first error, if there was one. Those of collectives on a GPU are their communicator's.
  Status status(std::string_view what) const;
  GpuOps* gpu() const { return gpu_; }
  /// REQUIRES: a host stream.
  weirStream_t handle() const { return stream_; }
  cudaStream_t cuda() const { return reinterpret_cast<cudaStream_t>(stream_); }

 private:
  Stream(GpuOps* gpu, weirStream_t stream) : gpu_(gpu), stream_(stream) {}
  GpuOps* gpu_;
  weirStream_t stream_;  ///< or the GPU's
};

/// A place in a stream. Movable; used by one thread at a time.
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
  /// Marks this moment.
  Status record_now();
  /// Waits until it is reached.
  Status synchronize(std::string_view what) const;
  /// From one that was reached to another, in milliseconds.
  static Result<float> elapsed(const Event& begin, const Event& end, std::string_view what);
  /// REQUIRES: of host streams.
  weirEvent_t handle() const { return event_; }

 private:
  Event(GpuOps* gpu, weirEvent_t event) : gpu_(gpu), event_(event) {}
  GpuOps* gpu_;
  weirEvent_t event_;  ///< or the GPU's
};

/// A communicator that is destroyed, or aborted after abort(), with its owner. Empty when default-made.
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

  /// Ends what is under way with an error, for every thread; the communicator is gone afterwards.
  void abort();
  /// The error of what was queued, if there was one.
  Status status(std::string_view what) const;
  ncclComm_t handle() const { return comm_; }

 private:
  explicit Communicator(ncclComm_t comm) : comm_(comm) {}
  ncclComm_t comm_ = nullptr;
};

/// A weirGrainSum_t; its functions are those of weir/grains.h. Movable; used by one thread at a time.
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

/// Memory that peers of the machine can map (ncclMemAlloc), or of a GPU, filled with zeros. Movable.
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
