// SPDX-License-Identifier: Apache-2.0
/// GPU support of the back end, through PyTorch's vendor-neutral device interface, so that the build needs no
/// vendor's headers or libraries.
///
/// As in PyTorch's own back ends, an operation on tensors of a GPU runs after the work that the current
/// streams had been given when it was issued; wait() makes the then current stream wait for the operation,
/// not the program.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "nccl.h"
#include "python/weir_torch/base.h"

namespace weir_torch {

/// The stream for operations on one GPU. Thread-safe.
class GpuQueue {
 public:
  /// Throws if PyTorch's library for the GPU's vendor is not loaded.
  explicit GpuQueue(c10::Device device);

  c10::Device device() const { return stream_.device(); }
  const c10::Stream& stream() const { return stream_; }
  /// The same stream as NCCL's type.
  cudaStream_t handle() const { return handle_; }

 private:
  const c10::Stream stream_;
  const cudaStream_t handle_;
};

/// The queues of a back end, created on first use. Thread-safe.
class GpuQueues {
 public:
  std::shared_ptr<const GpuQueue> of(c10::Device device);
  /// Waits until all work on the queues has completed.
  void synchronize() const;

 private:
  mutable std::mutex mutex_;
  std::map<c10::DeviceIndex, std::shared_ptr<const GpuQueue>> queues_;
};

/// Orders one operation among the streams of a GPU. One thread calls run() once; any thread may call the
/// other functions.
class GpuPassage {
 public:
  /// Makes the operation wait for the current work of the device's current stream.
  explicit GpuPassage(std::shared_ptr<const GpuQueue> queue);

  const GpuQueue& queue() const { return *queue_; }
  /// Calls the body with the queue as the current stream. Tells the allocator that `used` are used on that
  /// stream.
  void run(const Tensors& used, const std::function<void()>& body);
  /// Makes later work of the current stream wait for the operation. REQUIRES: run() has returned, or was
  /// never called.
  void follow() const;
  /// Whether the GPU has completed the operation. REQUIRES: as follow().
  bool over() const { return after_.query(); }

 private:
  const std::shared_ptr<const GpuQueue> queue_;
  c10::Event before_;
  c10::Event after_;
};
using GpuPassagePtr = std::shared_ptr<GpuPassage>;

}  // namespace weir_torch
