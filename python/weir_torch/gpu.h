// SPDX-License-Identifier: Apache-2.0
/// GPUs as the back end uses them: through what all devices of PyTorch have in common, so that no header and
/// no library of a vendor is needed to build it.
///
/// As in PyTorch's own back ends, an operation on tensors of a GPU comes after what the streams that were
/// current had been given when it was issued, and wait() makes the stream that is current then wait for it,
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

/// The stream that operations on one GPU go to. Thread-safe.
class GpuQueue {
 public:
  /// Throws where PyTorch's part for that vendor is not loaded.
  explicit GpuQueue(c10::Device device);

  c10::Device device() const { return stream_.device(); }
  const c10::Stream& stream() const { return stream_; }
  /// The same, as NCCL's interface takes it.
  cudaStream_t handle() const { return handle_; }

 private:
  const c10::Stream stream_;
  const cudaStream_t handle_;
};

/// Those of a back end, made on first use. Thread-safe.
class GpuQueues {
 public:
  std::shared_ptr<const GpuQueue> of(c10::Device device);
  /// Waits until all that went to them is done.
  void synchronize() const;

 private:
  mutable std::mutex mutex_;
  std::map<c10::DeviceIndex, std::shared_ptr<const GpuQueue>> queues_;
};

/// One operation among the streams of a GPU. run() by one thread, once; the rest may follow from any thread.
class GpuPassage {
 public:
  /// What the current stream of the device has been given so far comes first.
  explicit GpuPassage(std::shared_ptr<const GpuQueue> queue);

  const GpuQueue& queue() const { return *queue_; }
  /// Calls the body with the queue as the current stream. The allocator learns that `used` are used there.
  void run(const Tensors& used, const std::function<void()>& body);
  /// What the current stream is given from now on comes after the operation. REQUIRES: run() has returned, or
  /// was never called.
  void follow() const;
  /// Whether the GPU is done with it. REQUIRES: as follow().
  bool over() const { return after_.query(); }

 private:
  const std::shared_ptr<const GpuQueue> queue_;
  c10::Event before_;
  c10::Event after_;
};
using GpuPassagePtr = std::shared_ptr<GpuPassage>;

}  // namespace weir_torch
