// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/gpu.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <utility>

#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

using c10::impl::VirtualGuardImpl;

/// c10::cuda::CUDAStream and its HIP counterpart have the same layout as c10::Stream; their stream() returns
/// the vendor's handle. PyTorch has no vendor-neutral function for that.
using HandleOf = cudaStream_t (*)(const c10::Stream*);

HandleOf find_handle_of() {
  constexpr std::pair<const char*, const char*> kPlaces[] = {
      {"libc10_cuda.so", "_ZNK3c104cuda10CUDAStream6streamEv"},
      {"libc10_hip.so", "_ZNK3c103hip9HIPStream6streamEv"}};
  for (const auto& [library, function] : kPlaces) {
    void* const loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void* const found = loaded != nullptr ? dlsym(loaded, function) : nullptr;
    if (found != nullptr) return reinterpret_cast<HandleOf>(found);
  }
  return nullptr;
}

cudaStream_t handle_of(const c10::Stream& stream) {
  static const HandleOf kHandleOf = find_handle_of();
  if (kHandleOf == nullptr) {
    refuse("tensors on " + stream.device().str() +
           " need a PyTorch with GPU support, but neither libc10_cuda.so nor libc10_hip.so is loaded");
  }
  return kHandleOf(&stream);
}

}  // namespace

GpuQueue::GpuQueue(c10::Device device)
    : stream_(VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, /*isHighPriority=*/true)),
      handle_(handle_of(stream_)) {}

std::shared_ptr<const GpuQueue> GpuQueues::of(c10::Device device) {
  std::lock_guard lock(mutex_);
  auto& queue = queues_[device.index()];
  if (!queue) queue = std::make_shared<const GpuQueue>(device);
  return queue;
}

void GpuQueues::synchronize() const {
  std::map<c10::DeviceIndex, std::shared_ptr<const GpuQueue>> all;
  {
    std::lock_guard lock(mutex_);
    all = queues_;
  }
  for (const auto& [index, queue] : all)
    VirtualGuardImpl(queue->device().type()).synchronizeStream(queue->stream());
}

GpuPassage::GpuPassage(std::shared_ptr<const GpuQueue> queue)
    : queue_(std::move(queue)), before_(queue_->device().type()), after_(queue_->device().type()) {
  before_.record(VirtualGuardImpl(queue_->device().type()).getStream(queue_->device()));
}

void GpuPassage::run(const Tensors& used, const std::function<void()>& body) {
  const c10::StreamGuard current(queue_->stream());
  before_.block(queue_->stream());
  const VirtualGuardImpl device(queue_->device().type());
  for (const at::Tensor& tensor : used)
    device.recordDataPtrOnStream(tensor.storage().data_ptr(), queue_->stream());
  body();
  after_.record(queue_->stream());
}

void GpuPassage::follow() const {
  after_.block(VirtualGuardImpl(queue_->device().type()).getStream(queue_->device()));
}

}  // namespace weir_torch
