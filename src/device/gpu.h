// SPDX-License-Identifier: Apache-2.0
/// The interface of a GPU, the same for CUDA and HIP: memory, copies and flags in stream order, and the
/// handles with which other processes access its memory.
///
/// Streams and events are the callers', as opaque pointers (CUstream and cudaStream_t are the same type, and
/// likewise HIP's); a null stream is the legacy default stream. Functions make the GPU's primary context
/// current during the call and restore the caller's context. Errors: system_error with the driver's message
/// and the failed call; device_error if the GPU itself has failed, after which all further calls on it fail.
///
/// Thread-safe.
/// Tests: tests/device/gpu_test.cc
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "src/base/status.h"

namespace weir::device {

using GpuStream = void*;

/// True for null and for the drivers' handles of a default stream, which belongs to the current GPU.
inline bool is_default_stream(GpuStream stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

/// The kind of memory at an address.
enum class GpuMemory : uint8_t {
  host,     ///< host memory that the driver does not know
  pinned,   ///< host memory that GPUs can access
  managed,  ///< memory that migrates between host and GPU
  device,
  /// Device memory in which kernels of several GPUs see each other's words while they run. Only allocate()
  /// and free() use this kind; elsewhere such memory is `device`.
  coherent,
};

/// A word in pinned memory, initially 0, that both the host and the GPU read and write.
struct GpuFlag {
  std::atomic<uint32_t>* host = nullptr;
  uint64_t device = 0;  ///< address of the same word on the GPU
};

/// The condition on a flag for which a stream waits: it equals the value, or has any of the value's bits.
enum class GpuCondition : uint8_t { equals, has_any };

/// The handle with which another process attaches to an allocation.
struct GpuShareHandle {
  std::array<std::byte, 64> bytes{};
  size_t offset = 0;  ///< offset of the shared address in its allocation, in bytes
};

class GpuKernels;
class GpuEvents;
class GpuDirect;
class GpuMappings;
class GpuSharing;

/// Operations that are queued on streams.
class GpuQueues {
 public:
  virtual ~GpuQueues() = default;

  /// Queues a copy on the stream, between any kinds of memory. Does not wait.
  virtual Status copy(void* to, const void* from, size_t bytes, GpuStream stream) = 0;
  /// set(): the stream sets the flag in stream order. await(): the stream waits until the flag satisfies the
  /// condition. Neither uses a multiprocessor of an NVIDIA GPU; docs/gpu.md describes AMD's drivers.
  virtual Status set(GpuFlag flag, uint32_t value, GpuStream stream) = 0;
  virtual Status await(GpuFlag flag, uint32_t value, GpuStream stream, GpuCondition test) = 0;
  Status await(GpuFlag flag, uint32_t value, GpuStream stream) {
    return await(flag, value, stream, GpuCondition::equals);
  }
  /// In stream order the driver calls `function` on a driver thread; it must not use the GPU. `argument` must
  /// stay valid until then (on a captured stream: for as long as the graph may run).
  virtual Status call(void (*function)(void*), void* argument, GpuStream stream) = 0;
  /// Whether the stream is being captured into a graph; operations queued then run at each launch of the
  /// graph.
  virtual Result<bool> captures(GpuStream stream) = 0;
  /// make_stream(): a new stream that does not synchronize with the default stream. synchronize(): waits
  /// until all operations queued on a stream are done.
  virtual Result<GpuStream> make_stream() = 0;
  virtual Status destroy_stream(GpuStream stream) = 0;
  virtual Status synchronize(GpuStream stream) = 0;
};

class Gpu : public GpuQueues {
 public:
  /// The name in messages: "CUDA GPU 0 (NVIDIA H200, 0000:3b:00.0)".
  virtual std::string description() const = 0;
  /// The PCI address, "0000:3b:00.0", which is the same in all processes of a host; empty: unknown.
  virtual std::string address() const { return {}; }

  /// Allocates memory. Pinned memory is host memory whose words can be flags.
  virtual Result<void*> allocate(size_t bytes, GpuMemory kind) = 0;
  virtual Status free(void* memory, GpuMemory kind) = 0;
  virtual Result<GpuFlag> flag_at(void* pinned) = 0;

  /// Pins mapped host memory, in whole pages, until unpin(), and returns its address on the GPU. Other
  /// processes may pin the same pages.
  virtual Result<uint64_t> pin(void* memory, size_t bytes);
  virtual Status unpin(void* memory);

  /// index(): the driver's number of the GPU in this process. The others: optional capabilities
  /// (gpu_sharing.h, gpu_mappings.h, gpu_direct.h, gpu_kernels.h); null if not supported. They live as long
  /// as this object.
  virtual int index() const { return 0; }
  virtual GpuSharing* sharing() { return nullptr; }
  virtual GpuMappings* mappings() { return nullptr; }
  virtual GpuDirect* direct() { return nullptr; }
  virtual GpuEvents* events() { return nullptr; }
  virtual GpuKernels* kernels() { return nullptr; }
};

inline Result<uint64_t> Gpu::pin(void*, size_t) {
  return Status(Code::system_error,
                description() + " cannot pin host memory that the driver did not allocate");
}
inline Status Gpu::unpin(void*) { return {}; }

/// The GPUs of a process, which are detected at first use. Only at() loads and initialises a driver; the
/// other functions check whether the process has done so, and never create a context.
///
/// Thread-safe.
class Gpus {
 public:
  virtual ~Gpus() = default;

  /// The kind of memory at the address; `host` if there is no GPU. Cheap if the process never used a GPU.
  virtual GpuMemory kind_of(const void* address) = 0;
  /// The GPU on which memory of kind `device` lies, or for a null address the calling thread's current GPU
  /// (the first one if the thread has selected none, as in the vendors' runtimes); null if there is none. The
  /// GPU lives as long as this object.
  virtual Gpu* of(const void* address) = 0;
  /// The GPU of a stream; for a default stream the current GPU; null if it is not a GPU's stream. Any other
  /// handle must be a valid stream of the driver, because drivers dereference it.
  virtual Gpu* of_stream(GpuStream stream) = 0;
  /// The GPU with this number among those visible to the process. Errors: system_error with the reason if
  /// there is none.
  virtual Result<Gpu*> at(int index) {
    return Status(Code::system_error, "there is no GPU " + std::to_string(index));
  }
};

}  // namespace weir::device
