// SPDX-License-Identifier: Apache-2.0
/// GpuDirect over one vendor's driver; see gpu_vendor-inl.h.
/// Tests: tests/device/gpu_direct_test.cc
#pragma once

#include <fmt/format.h>

#include "src/device/gpu_direct.h"
#include "src/device/gpu_sharing-inl.h"

namespace weir::device {

template <typename Api>
class VendorDirect final : public GpuDirect {
 public:
  VendorDirect(Api& api, const GpuSelf& self) : api_(api), self_(self) {}

  Result<Socket> file_of(void* memory, size_t bytes) override {
    int descriptor = -1;
    WEIR_TRY(unhindered_on(api_, self_, [&] { return api_.to_dmabuf(memory, bytes, &descriptor); }));
    return Socket(descriptor);
  }
  Status may_be_written() override {
    bool flushes = false;
    return unhindered_on(api_, self_, [&] { return api_.sees_writes(self_.index, &flushes); });
  }
  Status settle() override {
    if (settled_by_itself()) return {};
    return unhindered_on(api_, self_, [&] { return api_.flush_writes(); });
  }

 private:
  /// Whether NIC writes need no flush; this does not change during the life of a GPU.
  bool settled_by_itself() {
    enum : int { kUnknown, kFlushes, kByItself };
    int known = known_.load(std::memory_order_relaxed);
    if (known == kUnknown) {
      bool flushes = true;
      (void)on_gpu(api_, self_, [&] { return api_.sees_writes(self_.index, &flushes); });
      known_.store(known = flushes ? kFlushes : kByItself, std::memory_order_relaxed);
    }
    return known == kByItself;
  }

  Api& api_;
  const GpuSelf& self_;
  std::atomic<int> known_{0};
};

}  // namespace weir::device
