#include "src/core/copy_queue.h"

#include <cstring>

#include "src/core/insist.h"

namespace weir::core {
namespace {

/// Naps after which the driver is asked whether the GPU has failed: about a second.
constexpr int64_t kNapsUntilAsked = 10'000;

}  // namespace

Result<std::unique_ptr<CopyQueue>> CopyQueue::create(device::Gpu* gpu, device::GpuFlag flag) {
  device::GpuStream stream = nullptr;
  if (gpu != nullptr) {
    auto made = gpu->make_stream();
    WEIR_TRY(made.status());
    stream = *made;
  }
  return std::unique_ptr<CopyQueue>(new CopyQueue(gpu, flag, stream));
}

CopyQueue::~CopyQueue() {
  if (gpu_ == nullptr) return;
  (void)wait();
  (void)gpu_->destroy_stream(stream_);
}

Status CopyQueue::copy(void* to, const void* from, size_t bytes) {
  if (!failure_.ok()) return failure_;
  if (gpu_ != nullptr) {
    failure_ = gpu_->copy(to, from, bytes, stream_);
  } else if (bytes > 0) {
    std::memmove(to, from, bytes);
  }
  return failure_;
}

uint64_t CopyQueue::mark() {
  if (gpu_ == nullptr || !failure_.ok()) return marked_;
  failure_ = gpu_->set(flag_, static_cast<uint32_t>(marked_ + 1), stream_);
  if (failure_.ok()) ++marked_;
  return marked_;
}

bool CopyQueue::reached(uint64_t mark) const {
  if (gpu_ == nullptr) return true;
  if (!failure_.ok()) return false;
  const uint32_t behind = static_cast<uint32_t>(marked_) - flag_.host->load(std::memory_order_acquire);
  return mark <= marked_ - behind;
}

Status CopyQueue::wait(uint64_t mark) {
  insist([&](int64_t naps) {
    if (naps > 0 && naps % kNapsUntilAsked == 0) {
      if (Status asked = gpu_->synchronize(stream_); !asked.ok()) failure_ = std::move(asked);
    }
    return !failure_.ok() || reached(mark);
  });
  return failure_;
}

}  // namespace weir::core
