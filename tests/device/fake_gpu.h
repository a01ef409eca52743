// SPDX-License-Identifier: Apache-2.0
/// A simulated GPU: memory that faults when the host touches it, streams as threads, flags, calls, and graphs
/// as recorded lists.
///
/// Thread-safe, like a real GPU's interface.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "src/device/gpu.h"
#include "src/device/host_stream.h"

namespace weir::testing {

class FakeGpu : public device::Gpu {
 public:
  using Step = std::function<Status()>;
  using Graph = std::vector<Step>;

  explicit FakeGpu(int index = 0);
  ~FakeGpu() override;

  std::string description() const override { return "fake GPU " + std::to_string(index_); }
  int index() const override { return index_; }
  Result<void*> allocate(size_t bytes, device::GpuMemory kind) override;
  Status free(void* memory, device::GpuMemory kind) override;
  Result<device::GpuFlag> flag_at(void* pinned) override;
  Status copy(void* to, const void* from, size_t bytes, device::GpuStream stream) override;
  Status set(device::GpuFlag flag, uint32_t value, device::GpuStream stream) override;
  Status await(device::GpuFlag flag, uint32_t value, device::GpuStream stream,
               device::GpuCondition test) override;
  Status call(void (*function)(void*), void* argument, device::GpuStream stream) override;
  Result<bool> captures(device::GpuStream stream) override;
  Result<device::GpuStream> make_stream() override;
  Status destroy_stream(device::GpuStream stream) override;
  Status synchronize(device::GpuStream stream) override;

  // What a program does with its GPU.

  /// Queues a kernel, which runs in stream order on its own thread.
  void run(device::GpuStream stream, std::function<void()> kernel);
  /// The address at which kernels access device memory.
  template <typename T>
  T* inside(T* memory) const {
    return static_cast<T*>(shadow_of(memory));
  }
  /// Records everything that is queued from now on.
  void begin_capture(device::GpuStream stream);
  Graph end_capture(device::GpuStream stream);
  void launch(const Graph& graph, device::GpuStream stream);

  device::GpuMemory kind_of(const void* address) const;
  bool has_stream(device::GpuStream stream) const;
  /// Number of allocations so far, of any kind.
  int64_t allocations() const { return allocations_.load(); }
  /// Makes copies fail from now on, or succeed again.
  void break_copies(bool broken) { copies_fail_.store(broken); }
  /// Number of bytes that are allocated now.
  size_t held(device::GpuMemory kind) const;

 private:
  struct Block {
    device::GpuMemory kind;
    size_t bytes;
    std::byte* shadow;  ///< the same memory, as the GPU sees it
  };
  struct Stream {
    std::unique_ptr<device::HostStream> thread;
    bool capturing = false;
    Graph recorded;
  };

  Stream& stream_of(device::GpuStream stream) const;
  Status queue(device::GpuStream stream, Step step);
  void* shadow_of(const void* memory) const;
  /// The block that contains an address, or the end.
  std::map<const std::byte*, Block>::const_iterator find(const void* address) const;

  const int index_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, Block> blocks_;
  std::map<device::GpuStream, std::unique_ptr<Stream>> streams_;
  std::atomic<int64_t> allocations_{0};
  std::atomic<bool> copies_fail_{false};
};

/// The GPU of the process. Never destroyed: graphs may use it longer than communicators.
inline FakeGpu& gpu() {
  static auto* const kGpu = new FakeGpu;
  return *kGpu;
}

/// Streams of several GPUs, all of one process.
class FakeGpus final : public device::Gpus {
 public:
  explicit FakeGpus(std::vector<FakeGpu*> gpus) : gpus_(std::move(gpus)) {}

  device::GpuMemory kind_of(const void* address) override;
  /// The first GPU is the current one.
  device::Gpu* of(const void* address) override;
  device::Gpu* of_stream(device::GpuStream stream) override;
  Result<device::Gpu*> at(int index) override;

 private:
  const std::vector<FakeGpu*> gpus_;
};

}  // namespace weir::testing
