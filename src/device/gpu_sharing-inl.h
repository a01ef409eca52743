// SPDX-License-Identifier: Apache-2.0
/// GpuSharing and GpuEvents over one vendor's driver; see gpu_vendor-inl.h.
/// Tests: tests/device/gpu_sharing_test.cc
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "src/device/gpu_sharing.h"

namespace weir::device {

/// The GPU that a message names.
struct GpuSelf {
  int index = 0;
  std::string description;
  std::string address;  ///< PCI address
};

/// Calls a function with the GPU current; an error names the GPU.
template <typename Api, typename Function>
Status on_gpu(Api& api, const GpuSelf& self, Function&& function) {
  const typename Api::Current current(api, self.index);
  const Status done = current.status().ok() ? function() : current.status();
  return done.ok() ? Status() : Status(done.code(), fmt::format("{}: {}", self.description, done.message()));
}

/// As above, but the call is also allowed while this or another thread captures a stream.
template <typename Api, typename Function>
Status unhindered_on(Api& api, const GpuSelf& self, Function&& function) {
  constexpr int kRelaxed = 2;
  const int before = api.exchange_capture_mode(kRelaxed);
  const Status done = on_gpu(api, self, function);
  api.exchange_capture_mode(before);
  return done;
}

template <typename Api>
class VendorSharing final : public GpuSharing {
 public:
  VendorSharing(Api& api, const GpuSelf& self) : api_(api), self_(self) {}

  Result<GpuShareHandle> share(const void* memory) override {
    GpuShareHandle handle;
    const Status done = unhindered_on(api_, self_, [&]() -> Status {
      void* base = nullptr;
      WEIR_TRY(api_.range(memory, &base));
      handle.offset = static_cast<size_t>(static_cast<const char*>(memory) - static_cast<char*>(base));
      return api_.share(base, &handle.bytes);
    });
    if (done.ok()) return handle;
    return Status(done.code(), fmt::format("memory at {} cannot be shared with other processes; expected "
                                           "device memory from a plain allocation (cudaMalloc). {}",
                                           memory, done.message()));
  }

  Result<void*> attach(const GpuShareHandle& handle) override {
    const std::lock_guard lock(mutex_);
    auto found = std::find_if(attached_.begin(), attached_.end(),
                              [&](const Attached& one) { return one.handle == handle.bytes; });
    if (found == attached_.end()) {
      Attached one;
      one.handle = handle.bytes;
      const Status done = unhindered_on(api_, self_, [&] { return api_.attach(handle.bytes, &one.base); });
      if (!done.ok())
        return Status(done.code(),
                      fmt::format("cannot attach memory of another process; expected a handle from a running "
                                  "process of this host, for a GPU that is visible to this process. {}",
                                  done.message()));
      found = attached_.insert(attached_.end(), one);
    }
    char* const memory = static_cast<char*>(found->base) + handle.offset;
    found->given.push_back(memory);
    return memory;
  }

  Status detach(void* memory) override {
    const std::lock_guard lock(mutex_);
    for (auto one = attached_.begin(); one != attached_.end(); ++one) {
      const auto given = std::find(one->given.begin(), one->given.end(), memory);
      if (given == one->given.end()) continue;
      one->given.erase(given);
      if (!one->given.empty()) return {};
      void* const base = one->base;
      attached_.erase(one);
      return unhindered_on(api_, self_, [&] { return api_.detach(base); });
    }
    return Status(Code::invalid_argument,
                  fmt::format("memory at {} was not attached on {}", memory, self_.description));
  }

  Status reach(Gpu& other) override {
    if (other.index() == self_.index) return {};
    const Status done = unhindered_on(api_, self_, [&]() -> Status {
      int can = 0;
      WEIR_TRY(api_.can_reach(self_.index, other.index(), &can));
      if (can == 0)
        return Status(Code::system_error, "the driver reports no peer-to-peer connection between them");
      return api_.reach(other.index());
    });
    if (done.ok()) return done;
    return Status(done.code(),
                  fmt::format("no peer access to {} from {}", other.description(), done.message()));
  }

 private:
  struct Attached {
    std::array<std::byte, 64> handle{};
    void* base = nullptr;
    std::vector<void*> given;  ///< addresses that attach() returned and detach() has not yet released
  };

  Api& api_;
  const GpuSelf& self_;
  std::mutex mutex_;
  std::vector<Attached> attached_;
};

template <typename Api>
class VendorEvents final : public GpuEvents {
 public:
  VendorEvents(Api& api, const GpuSelf& self) : api_(api), self_(self) {}

  Result<GpuEvent> make(GpuEventUse use) override {
    GpuEvent event = nullptr;
    WEIR_TRY(unhindered_on(api_, self_, [&] { return api_.make_event(use, &event); }));
    return event;
  }
  Result<GpuEventHandle> share(GpuEvent event) override {
    GpuEventHandle handle;
    WEIR_TRY(unhindered_on(api_, self_, [&] { return api_.share_event(event, &handle.bytes); }));
    return handle;
  }
  Result<GpuEvent> open(const GpuEventHandle& handle) override {
    GpuEvent event = nullptr;
    WEIR_TRY(unhindered_on(api_, self_, [&] { return api_.open_event(handle.bytes, &event); }));
    return event;
  }
  Status destroy(GpuEvent event) override {
    return unhindered_on(api_, self_, [&] { return api_.destroy_event(event); });
  }
  Status record(GpuEvent event, GpuStream stream) override {
    return on_gpu(api_, self_, [&] { return api_.record(event, stream); });
  }
  Status wait(GpuEvent event, GpuStream stream) override {
    return on_gpu(api_, self_, [&] { return api_.wait(event, stream); });
  }

 private:
  Api& api_;
  const GpuSelf& self_;
};

}  // namespace weir::device
