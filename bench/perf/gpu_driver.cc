// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/gpu_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <initializer_list>

namespace weir::perf {
namespace {

constexpr int kAnyKind = 4;  ///< hipMemcpyDefault: the addresses determine the kinds of memory

/// Looks up functions of one library and remembers the first missing name.
class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}

  template <typename Function>
  void operator()(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

void find_cuda(Finder& find, GpuCalls& c) {
  find(c.init, "cuInit");
  find(c.error_text, "cuGetErrorString");
  find(c.count, "cuDeviceGetCount");
  find(c.name, "cuDeviceGetName");
  find(c.address, "cuDeviceGetPCIBusId");
  find(c.retain, "cuDevicePrimaryCtxRetain");
  find(c.make_current, "cuCtxSetCurrent");
  find(c.memory_info, "cuMemGetInfo_v2");
  find(c.allocate, "cuMemAlloc_v2");
  find(c.free, "cuMemFree_v2");
  find(c.copy, "cuMemcpyAsync");
  find(c.create_stream, "cuStreamCreate");
  find(c.destroy_stream, "cuStreamDestroy_v2");
  find(c.synchronize, "cuStreamSynchronize");
  find(c.begin_capture, "cuStreamBeginCapture_v2");
  find(c.end_capture, "cuStreamEndCapture");
  find(c.instantiate, "cuGraphInstantiateWithFlags");
  find(c.launch_graph, "cuGraphLaunch");
  find(c.destroy_instance, "cuGraphExecDestroy");
  find(c.destroy_graph, "cuGraphDestroy");
}

void find_hip(Finder& find, GpuCalls& c) {
  find(c.init, "hipInit");
  find(c.error_words, "hipGetErrorString");
  find(c.count, "hipGetDeviceCount");
  find(c.name, "hipDeviceGetName");
  find(c.address, "hipDeviceGetPCIBusId");
  find(c.set_device, "hipSetDevice");
  find(c.memory_info, "hipMemGetInfo");
  find(c.allocate, "hipMalloc");
  find(c.free, "hipFree");
  find(c.copy_of_kind, "hipMemcpyAsync");
  find(c.create_stream, "hipStreamCreateWithFlags");
  find(c.destroy_stream, "hipStreamDestroy");
  find(c.synchronize, "hipStreamSynchronize");
  find(c.begin_capture, "hipStreamBeginCapture");
  find(c.end_capture, "hipStreamEndCapture");
  find(c.instantiate, "hipGraphInstantiateWithFlags");
  find(c.launch_graph, "hipGraphLaunch");
  find(c.destroy_instance, "hipGraphExecDestroy");
  find(c.destroy_graph, "hipGraphDestroy");
}

/// Null on failure; dlerror() then has the reason. Never unloaded, since drivers do not support that.
void* open_first(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return library;
  return nullptr;
}

Outcome impossible(const std::string& vendor, const std::string& reason) {
  return Outcome::failure(ExitCode::not_implemented, fmt::format("--device {}: {}", vendor, reason));
}

}  // namespace

Outcome GpuDriver::load(const std::string& vendor, std::unique_ptr<GpuDriver>* driver) {
  void* const library =
      vendor == "cuda"
          ? open_first({"libcuda.so.1"})
          : open_first({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"});
  if (library == nullptr) return impossible(vendor, fmt::format("cannot load a driver: {}", dlerror()));
  driver->reset(new GpuDriver(vendor));
  return (*driver)->find_calls(library);
}

Outcome GpuDriver::find_calls(void* library) {
  Finder find(library);
  vendor_ == "cuda" ? find_cuda(find, calls_) : find_hip(find, calls_);
  if (find.missing() != nullptr)
    return impossible(vendor_, fmt::format("the driver is too old; expected one with {}", find.missing()));
  if (Outcome started = checked(calls_.init(0), "starting the driver"); !started.ok())
    return impossible(vendor_, started.message());
  WEIR_TRY(checked(calls_.count(&count_), "counting the GPUs"));
  return count_ > 0 ? Outcome() : impossible(vendor_, "the driver reports no GPU");
}

Outcome GpuDriver::select(int gpu) const {
  if (calls_.set_device != nullptr)
    return checked(calls_.set_device(gpu), fmt::format("selecting GPU {}", gpu));
  void* context = nullptr;  // kept until the process ends
  WEIR_TRY(checked(calls_.retain(&context, gpu), fmt::format("selecting GPU {}", gpu)));
  return checked(calls_.make_current(context), fmt::format("selecting GPU {}", gpu));
}

Outcome GpuDriver::copy(void* to, const void* from, size_t bytes, void* stream) const {
  const int code = calls_.copy != nullptr ? calls_.copy(to, from, bytes, stream)
                                          : calls_.copy_of_kind(to, from, bytes, kAnyKind, stream);
  return code == 0 ? Outcome() : checked(code, fmt::format("copying {} bytes", bytes));
}

Outcome GpuDriver::checked(int code, const std::string& call, std::source_location where) const {
  if (code == 0) return Outcome();
  const char* words = nullptr;
  if (calls_.error_words != nullptr)
    words = calls_.error_words(code);
  else
    (void)calls_.error_text(code, &words);
  return Outcome::failure(
      ExitCode::device,
      fmt::format("{} failed: {} (error {})", call, words != nullptr ? words : "unknown", code), where);
}

}  // namespace weir::perf
