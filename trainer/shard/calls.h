/// Calls of the library as Status values, and handles that free themselves.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "weir/status.h"
#include "weir/stream.h"

namespace weir::shard {

/// The result of a call of nccl.h or weir/stream.h: success, or its code and "`what`: sentence of the
/// library".
Status checked(int result, std::string_view what);

/// A host stream. The destructor waits for what is queued. Movable; used by one thread at a time.
class Stream {
 public:
  static Result<Stream> make();
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  weirStream_t handle() const { return stream_; }
  cudaStream_t cuda() const { return reinterpret_cast<cudaStream_t>(stream_); }

 private:
  explicit Stream(weirStream_t stream) : stream_(stream) {}
  weirStream_t stream_;
};

/// A place in a stream. Movable; used by one thread at a time.
class Event {
 public:
  static Result<Event> make();
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  Status record(const Stream& stream) { return checked(weirEventRecord(event_, stream.handle()), "event"); }
  /// Marks this moment.
  Status record_now() { return checked(weirEventRecord(event_, nullptr), "event"); }
  weirEvent_t handle() const { return event_; }

 private:
  explicit Event(weirEvent_t event) : event_(event) {}
  weirEvent_t event_;
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
  ncclComm_t handle() const { return comm_; }

 private:
  explicit Communicator(ncclComm_t comm) : comm_(comm) {}
  ncclComm_t comm_ = nullptr;
};

/// Memory that peers of the machine can map (ncclMemAlloc), filled with zeros. Movable.
class Memory {
 public:
  Memory() = default;
  static Result<Memory> allocate(size_t bytes);
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory();

  char* data() const { return static_cast<char*>(data_); }
  float* floats() const { return static_cast<float*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  Memory(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace weir::shard
