// SPDX-License-Identifier: Apache-2.0
/// A GPU as the library uses it, CUDA's or HIP's alike: memory, copies and flags in the order of streams, and
/// what another process needs to reach its memory.
///
/// Streams and events are the callers' own (CUstream and cudaStream_t are one thing, so are HIP's), as opaque
/// pointers; a null stream is the legacy default stream. Functions make the GPU's primary context current for
/// the time of the call and leave the caller's as it was. Errors: system_error with the driver's own words
/// and the call that failed; device_error where the GPU itself has failed, after which nothing on it works.
///
/// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "weir/status.h"

namespace weir::device {

using GpuStream = void*;

/// Null, or a handle of the drivers for a default stream: of the GPU that is current, whichever that is.
inline bool is_default_stream(GpuStream stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

/// Where an address lies.
enum class GpuMemory : uint8_t {
  host,     ///< the driver does not know it
  pinned,   ///< host memory that GPUs reach
  managed,  ///< moves between both
  device,
};

/// A word in pinned memory, 0 at first, that the host and the GPU both read and write.
struct GpuFlag {
  std::atomic<uint32_t>* host = nullptr;
  uint64_t device = 0;  ///< the same word, as the GPU names it
};

/// What a stream waits for at a flag: that it is a value, or has any of its bits.
enum class GpuCondition : uint8_t { equals, has_any };

/// What another process attaches to an allocation with.
struct GpuShareHandle {
  std::array<std::byte, 64> bytes{};
  size_t offset = 0;  ///< of the address that was asked for, in its allocation
};

class GpuKernels;
class GpuEvents;
class GpuDirect;
class GpuMappings;
class GpuSharing;

/// What is queued on streams.
class GpuQueues {
 public:
  virtual ~GpuQueues() = default;

  /// In the order of the stream, between any kinds of memory. Does not wait.
  virtual Status copy(void* to, const void* from, size_t bytes, GpuStream stream) = 0;
  /// The stream sets the flag when it comes there; goes no further before the flag passes the test. Neither
  /// takes a multiprocessor of an NVIDIA GPU; docs/gpu.md says what AMD's drivers do.
  virtual Status set(GpuFlag flag, uint32_t value, GpuStream stream) = 0;
  virtual Status await(GpuFlag flag, uint32_t value, GpuStream stream, GpuCondition test) = 0;
  Status await(GpuFlag flag, uint32_t value, GpuStream stream) {
    return await(flag, value, stream, GpuCondition::equals);
  }
  /// The stream has the driver call `function` on a thread of its own, which must not use the GPU; `argument`
  /// stays valid until then (of a captured stream: for as long as the graph may run).
  virtual Status call(void (*function)(void*), void* argument, GpuStream stream) = 0;
  /// Whether the stream is being captured into a graph: what is queued then runs at each launch of it.
  virtual Result<bool> captures(GpuStream stream) = 0;
  /// A stream of the library's own, which waits for no other; and until all that is queued on one is done.
  virtual Result<GpuStream> make_stream() = 0;
  virtual Status destroy_stream(GpuStream stream) = 0;
  virtual Status synchronize(GpuStream stream) = 0;
};

class Gpu : public GpuQueues {
 public:
  /// What messages call it: "CUDA GPU 0 (NVIDIA H200, 0000:3b:00.0)".
  virtual std::string description() const = 0;
  /// On the PCI bus, "0000:3b:00.0": the same in all processes of a host. Empty: nobody knows.
  virtual std::string address() const { return {}; }

  /// Pinned memory is host memory; its words can be flags.
  virtual Result<void*> allocate(size_t bytes, GpuMemory kind) = 0;
  virtual Status free(void* memory, GpuMemory kind) = 0;
  virtual Result<GpuFlag> flag_at(void* pinned) = 0;

  /// Makes host memory that somebody else has mapped pinned, whole pages, until unpin(): its address as the
  /// GPU names it. Other processes may have the same pages pinned.
  virtual Result<uint64_t> pin(void* memory, size_t bytes);
  virtual Status unpin(void* memory);

  /// The number that the driver gives it in this process, and what more it can do (gpu_sharing.h,
  /// gpu_mappings.h, gpu_direct.h, gpu_kernels.h). Null: it cannot. All live as long as this object.
  virtual int index() const { return 0; }
  virtual GpuSharing* sharing() { return nullptr; }
  virtual GpuMappings* mappings() { return nullptr; }
  virtual GpuDirect* direct() { return nullptr; }
  virtual GpuEvents* events() { return nullptr; }
  virtual GpuKernels* kernels() { return nullptr; }
};

inline Result<uint64_t> Gpu::pin(void*, size_t) {
  return Status(Code::system_error, description() + " cannot pin memory that others have mapped");
}
inline Status Gpu::unpin(void*) { return {}; }

/// The GPUs of a process: none on most machines. Found when first asked for. Only at() loads a driver and
/// starts it; all else looks whether the process has done so, and creates no context of its own accord.
///
/// Thread-safe.
class Gpus {
 public:
  virtual ~Gpus() = default;

  /// Where the address lies; host where there is no GPU. Costs little where the process never used one.
  virtual GpuMemory kind_of(const void* address) = 0;
  /// The GPU that memory of kind device lies on, or that the calling thread has current (address null; the
  /// first one where the thread has chosen none, as the vendors' runtimes have it); null: there is none.
  /// Stays for as long as this object.
  virtual Gpu* of(const void* address) = 0;
  /// The GPU of a stream; of default streams the one that is current. Null: it is no stream of a GPU.
  /// What is no default stream must be one of the driver's: drivers look into it.
  virtual Gpu* of_stream(GpuStream stream) = 0;
  /// The GPU with this number among those that the process may see. Errors: system_error with the reason
  /// where there is none.
  virtual Result<Gpu*> at(int index) {
    return Status(Code::system_error, "there is no GPU " + std::to_string(index));
  }
};

}  // namespace weir::device
