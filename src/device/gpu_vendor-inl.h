// SPDX-License-Identifier: Apache-2.0
/// Gpu and Gpus over one vendor's driver. `Api` (gpu_cuda.cc, gpu_hip.cc) calls the driver's functions and
/// names them in errors. This file contains what is the same for all vendors: selecting the current GPU for a
/// call, detection, and messages that name the GPU.
///
/// Calls that are forbidden during a capture (allocation, waiting, loading) are made with the thread's
/// capture mode relaxed, because they do not concern the captured streams.
/// Tests: tests/device/gpu_test.cc
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/device/gpu.h"
#include "src/device/gpu_direct-inl.h"
#include "src/device/gpu_kernels.h"
#include "src/device/gpu_mappings-inl.h"
#include "src/device/gpu_sharing-inl.h"
#include "src/drivers/library.h"

namespace weir::device {

/// The location of an address as the driver reports it.
struct GpuPlace {
  GpuMemory kind = GpuMemory::host;
  int gpu = 0;
};

template <typename Api>
class VendorKernels final : public GpuKernels {
 public:
  VendorKernels(Api& api, const GpuSelf& self) : api_(api), self_(self) {}

  std::string_view code() const override { return Api::kCode; }
  Result<GpuModule> load(const void* image) override {
    GpuModule module = nullptr;
    WEIR_TRY(unhindered_on(api_, self_, [&] { return api_.load(image, &module); }));
    return module;
  }
  Status unload(GpuModule module) override {
    return unhindered_on(api_, self_, [&] { return api_.unload(module); });
  }
  Result<GpuKernel> find(GpuModule module, const char* name) override {
    GpuKernel kernel = nullptr;
    const Status found = unhindered_on(api_, self_, [&] { return api_.find(module, name, &kernel); });
    if (!found.ok())
      return Status(found.code(), fmt::format("cannot find kernel {}: {}", name, found.message()));
    return kernel;
  }
  Status launch(const GpuLaunch& launch, GpuStream stream) override {
    return on_gpu(api_, self_, [&] { return api_.launch(launch, stream); });
  }
  Result<int> multiprocessors() override {
    int count = 0;
    WEIR_TRY(unhindered_on(api_, self_, [&] { return api_.multiprocessors(self_.index, &count); }));
    return count;
  }
  Result<int> resident_blocks(GpuKernel kernel, uint32_t threads, uint32_t shared_bytes) override {
    int blocks = 0;
    WEIR_TRY(unhindered_on(api_, self_,
                           [&] { return api_.resident_blocks(kernel, threads, shared_bytes, &blocks); }));
    return blocks;
  }

 private:
  Api& api_;
  const GpuSelf& self_;
};

template <typename Api>
class VendorGpu final : public Gpu {
 public:
  VendorGpu(Api& api, GpuSelf self)
      : api_(api),
        self_(std::move(self)),
        sharing_(api, self_),
        mappings_(api, self_),
        direct_(api, self_),
        events_(api, self_),
        kernels_(api, self_) {}

  std::string description() const override { return self_.description; }
  std::string address() const override { return self_.address; }
  int index() const override { return self_.index; }
  GpuSharing* sharing() override { return &sharing_; }
  GpuMappings* mappings() override { return api_.maps() ? &mappings_ : nullptr; }
  GpuDirect* direct() override { return &direct_; }
  GpuEvents* events() override { return &events_; }
  GpuKernels* kernels() override { return &kernels_; }

  Result<void*> allocate(size_t bytes, GpuMemory kind) override {
    WEIR_TRY(of_a_driver(kind));
    void* memory = nullptr;
    const Status done = unhindered_on(api_, self_, [&] { return api_.allocate(kind, bytes, &memory); });
    if (!done.ok()) return Status(done.code(), fmt::format("{} bytes on {}", bytes, done.message()));
    return memory;
  }
  Status free(void* memory, GpuMemory kind) override {
    WEIR_TRY(of_a_driver(kind));
    return unhindered_on(api_, self_, [&] { return api_.free(kind, memory); });
  }
  Result<GpuFlag> flag_at(void* pinned) override {
    GpuFlag flag;
    flag.host = static_cast<std::atomic<uint32_t>*>(pinned);
    WEIR_TRY(unhindered_on(api_, self_, [&] { return api_.flag_address(pinned, &flag.device); }));
    flag.host->store(0, std::memory_order_relaxed);
    return flag;
  }

  Result<uint64_t> pin(void* memory, size_t bytes) override {
    uint64_t address = 0;
    const Status done = unhindered_on(api_, self_, [&]() -> Status {
      WEIR_TRY(api_.pin(memory, bytes));
      return api_.flag_address(memory, &address);
    });
    if (!done.ok())
      return Status(done.code(), fmt::format("{} bytes at {} on {}", bytes, memory, done.message()));
    return address;
  }
  Status unpin(void* memory) override {
    return unhindered_on(api_, self_, [&] { return api_.unpin(memory); });
  }

  Status copy(void* to, const void* from, size_t bytes, GpuStream stream) override {
    if (bytes == 0) return {};
    return on_gpu(api_, self_, [&] { return api_.copy(to, from, bytes, stream); });
  }
  Status set(GpuFlag flag, uint32_t value, GpuStream stream) override {
    return on_gpu(api_, self_, [&] { return api_.set(flag, value, stream); });
  }
  Status await(GpuFlag flag, uint32_t value, GpuStream stream, GpuCondition test) override {
    return on_gpu(api_, self_, [&] { return api_.await(flag, value, test, stream); });
  }
  Status call(void (*function)(void*), void* argument, GpuStream stream) override {
    return on_gpu(api_, self_, [&] { return api_.call(function, argument, stream); });
  }
  Result<bool> captures(GpuStream stream) override {
    bool captures = false;
    WEIR_TRY(on_gpu(api_, self_, [&] { return api_.captures(stream, &captures); }));
    return captures;
  }
  Result<GpuStream> make_stream() override {
    GpuStream stream = nullptr;
    WEIR_TRY(unhindered_on(api_, self_, [&] { return api_.make_stream(&stream); }));
    return stream;
  }
  Status destroy_stream(GpuStream stream) override {
    return unhindered_on(api_, self_, [&] { return api_.destroy_stream(stream); });
  }
  Status synchronize(GpuStream stream) override {
    return unhindered_on(api_, self_, [&] { return api_.synchronize(stream); });
  }

 private:
  Status of_a_driver(GpuMemory kind) const {
    if (kind != GpuMemory::host) return {};
    return Status(
        Code::invalid_argument,
        fmt::format("{} does not manage ordinary host memory; expected pinned, managed or device memory",
                    self_.description));
  }

  Api& api_;
  const GpuSelf self_;
  VendorSharing<Api> sharing_;
  VendorMappings<Api> mappings_;
  VendorDirect<Api> direct_;
  VendorEvents<Api> events_;
  VendorKernels<Api> kernels_;
};

/// Finds the driver once the process has loaded it, and the GPUs once the process has initialised it.
template <typename Api>
class VendorGpus final : public Gpus {
 public:
  GpuMemory kind_of(const void* address) override {
    Api* const api = address != nullptr ? loaded() : nullptr;
    return api != nullptr ? api->locate(address).kind : GpuMemory::host;
  }
  Gpu* of(const void* address) override {
    Api* const api = loaded();
    if (api == nullptr) return nullptr;
    if (address == nullptr) return current(*api);
    const GpuPlace place = api->locate(address);
    return place.kind == GpuMemory::device ? gpu(*api, place.gpu) : nullptr;
  }
  Gpu* of_stream(GpuStream stream) override {
    Api* const api = loaded();
    if (api == nullptr) return nullptr;
    if (is_default_stream(stream)) return current(*api);
    int index = -1;
    return api->stream_gpu(stream, &index).ok() ? gpu(*api, index) : nullptr;
  }
  Result<Gpu*> at(int index) override {
    Api* api = loaded();
    if (api == nullptr) {
      const std::lock_guard lock(mutex_);
      if (auto opened = look(true); !opened.ok())
        return Status(opened.status().code(),
                      fmt::format("no {} driver: {}", Api::kName, opened.status().message()));
      api = api_.load(std::memory_order_acquire);
    }
    WEIR_TRY(api->start());
    if (Gpu* const found = gpu(*api, index); found != nullptr) return found;
    int count = 0;
    WEIR_TRY(api->count(&count));
    return Status(Code::invalid_argument,
                  fmt::format("there is no {} GPU {}; the number of GPUs visible to this process is {}",
                              Api::kName, index, count));
  }

 private:
  /// The driver, if the process has loaded it; checked again whenever the process has loaded another library.
  Api* loaded() {
    if (Api* const api = api_.load(std::memory_order_acquire); api != nullptr) return api;
    const uint64_t loads = drivers::Library::loads();
    if (loads != looked_.load(std::memory_order_acquire)) {
      const std::lock_guard lock(mutex_);
      (void)look(false);
      looked_.store(loads, std::memory_order_release);
    }
    return api_.load(std::memory_order_acquire);  // another thread may have found it meanwhile
  }
  Result<Api*> look(bool load) {
    if (owned_ == nullptr) {
      auto opened = Api::open(load);
      if (!opened.ok()) return opened.status();
      owned_ = std::move(*opened);
      api_.store(owned_.get(), std::memory_order_release);
    }
    return owned_.get();
  }

  Gpu* current(Api& api) {
    int index = -1;
    return api.current(&index).ok() ? gpu(api, index) : nullptr;
  }
  /// GPU `index`; null if it does not exist or the driver was not initialised.
  Gpu* gpu(Api& api, int index) {
    const std::lock_guard lock(mutex_);
    if (gpus_.empty()) find(api);
    return index >= 0 && index < static_cast<int>(gpus_.size()) ? gpus_[static_cast<size_t>(index)].get()
                                                                : nullptr;
  }
  void find(Api& api) {
    int count = 0;
    if (!api.count(&count).ok()) return;
    for (int i = 0; i < count; ++i) {
      char name[128] = {}, address[32] = {};
      if (!api.name(i, name, sizeof(name) - 1).ok()) name[0] = '\0';
      if (!api.address(i, address, sizeof(address) - 1).ok()) address[0] = '\0';
      GpuSelf self{i, fmt::format("{} GPU {} ({}, {})", Api::kName, i, name, address), address};
      gpus_.push_back(std::make_unique<VendorGpu<Api>>(api, std::move(self)));
    }
  }

  std::atomic<Api*> api_{nullptr};
  std::atomic<uint64_t> looked_{0};
  std::mutex mutex_;  // guards the members below
  std::unique_ptr<Api> owned_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
};

}  // namespace weir::device
