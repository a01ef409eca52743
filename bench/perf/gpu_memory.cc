// SPDX-License-Identifier: Apache-2.0
// Memory and streams of GPUs, for CUDA and HIP.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/perf/gpu_driver.h"
#include "bench/perf/memory.h"

namespace weir::perf {
namespace {

constexpr unsigned kWaitsForNoOther = 1;  ///< cudaStreamNonBlocking
constexpr int kThreadLocal = 1;  ///< capture mode in which other threads' calls do not invalidate the capture

class StreamGraph final : public Graph {
 public:
  StreamGraph(const GpuDriver& driver, void* stream) : driver_(driver), stream_(stream) {}
  ~StreamGraph() override {
    drop(&captured_, driver_.calls().destroy_graph);
    drop(&instance_, driver_.calls().destroy_instance);
  }

  Outcome begin() override {
    return driver_.checked(driver_.calls().begin_capture(stream_, kThreadLocal),
                           "starting the capture of a stream");
  }

  Outcome end() override {
    drop(&captured_, driver_.calls().destroy_graph);
    return driver_.checked(driver_.calls().end_capture(stream_, &captured_),
                           "ending the capture of a stream");
  }

  Outcome prepare() override {
    drop(&instance_, driver_.calls().destroy_instance);
    return driver_.checked(driver_.calls().instantiate(&instance_, captured_, 0), "instantiating the graph");
  }

  Outcome launch() override {
    if (const int code = driver_.calls().launch_graph(instance_, stream_); code != 0) [[unlikely]]
      return driver_.checked(code, "launching the graph");
    return Outcome();
  }

 private:
  static void drop(void** thing, int (*destroy)(void*)) {
    if (*thing != nullptr) (void)destroy(*thing);
    *thing = nullptr;
  }

  const GpuDriver& driver_;
  void* const stream_;
  void* captured_ = nullptr;
  void* instance_ = nullptr;
};

class GpuRankMemory final : public Memory {
 public:
  /// Takes ownership of the stream, or uses the GPU's default stream if it is null.
  GpuRankMemory(const GpuDriver& driver, int gpu, void* stream)
      : driver_(driver), gpu_(gpu), stream_(stream), graph_(driver, stream) {}
  ~GpuRankMemory() override {
    if (stream_ != nullptr) (void)driver_.calls().destroy_stream(stream_);
  }

  Outcome select() override { return driver_.select(gpu_); }

  Outcome allocate(size_t bytes, bool by_library, void** out) override {
    WEIR_TRY(select());
    bytes = std::max<size_t>(bytes, 1);
    if (by_library) return nccl(ncclMemAlloc(out, bytes));
    return driver_.checked(driver_.calls().allocate(out, bytes), fmt::format("allocating {} bytes", bytes));
  }

  void release(void* pointer, bool by_library) override {
    if (pointer == nullptr || !select().ok()) return;
    if (by_library)
      (void)ncclMemFree(pointer);
    else
      (void)driver_.calls().free(pointer);
  }

  Outcome copy(void* to, const void* from, size_t bytes) override {
    WEIR_TRY(select());
    return driver_.copy(to, from, bytes, stream_);
  }

  cudaStream_t stream() const override { return static_cast<cudaStream_t>(stream_); }
  Outcome synchronize() override {
    WEIR_TRY(select());  // stream 0 belongs to the current GPU
    return driver_.checked(driver_.calls().synchronize(stream_), "waiting for a stream");
  }
  Graph* graph() override { return stream_ != nullptr ? &graph_ : nullptr; }

 private:
  const GpuDriver& driver_;
  const int gpu_;
  void* const stream_;
  StreamGraph graph_;
};

class GpuDevices final : public Devices {
 public:
  GpuDevices(std::unique_ptr<GpuDriver> driver, bool null_stream)
      : driver_(std::move(driver)), null_stream_(null_stream) {}

  int count() const override { return driver_->count(); }

  Outcome describe(int device, std::string* text) const override {
    std::array<char, 96> name{};
    std::array<char, 32> address{};
    const GpuCalls& calls = driver_->calls();
    WEIR_TRY(driver_->checked(calls.name(name.data(), name.size(), device), "reading the name of a GPU"));
    WEIR_TRY(driver_->checked(calls.address(address.data(), address.size(), device),
                              "reading the PCI address of a GPU"));
    std::string place = address.data();
    place.resize(std::min(place.size(), place.rfind('.')));  // remove the function number of the PCI address
    *text = fmt::format("[{}] {}", place, name.data());
    return Outcome();
  }

  Outcome available(int device, size_t* bytes) const override {
    WEIR_TRY(driver_->select(device));
    size_t whole = 0;
    return driver_->checked(driver_->calls().memory_info(bytes, &whole), "reading the amount of free memory");
  }

  Outcome open(int device, std::unique_ptr<Memory>* memory) const override {
    void* stream = nullptr;
    WEIR_TRY(driver_->select(device));
    if (!null_stream_)
      WEIR_TRY(
          driver_->checked(driver_->calls().create_stream(&stream, kWaitsForNoOther), "creating a stream"));
    *memory = std::make_unique<GpuRankMemory>(*driver_, device, stream);
    return Outcome();
  }

 private:
  const std::unique_ptr<GpuDriver> driver_;
  const bool null_stream_;
};

}  // namespace

Outcome gpu_devices(const std::string& vendor, bool null_stream, std::unique_ptr<Devices>* devices) {
  std::unique_ptr<GpuDriver> driver;
  WEIR_TRY(GpuDriver::load(vendor, &driver));
  *devices = std::make_unique<GpuDevices>(std::move(driver), null_stream);
  return Outcome();
}

}  // namespace weir::perf
