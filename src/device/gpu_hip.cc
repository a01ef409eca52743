// SPDX-License-Identifier: Apache-2.0
// HIP's runtime, which is also its driver API, behind the interface that gpu_vendor-inl.h requires.
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "src/device/gpu_error.h"
#include "src/device/gpu_vendor-inl.h"
#include "src/device/gpus.h"
#include "src/drivers/direct_table.h"
#include "src/drivers/hip_table.h"
#include "src/drivers/mapping_table.h"

namespace weir::device {
namespace {

using drivers::HipIpcHandle;
using drivers::HipPointer;
using drivers::HipTable;
using drivers::Library;

// HIP's numbers.
constexpr int kHipMultiprocessors = 63;                 // hipDeviceAttributeMultiprocessorCount
constexpr unsigned kHipPortableMapped = 0x01 | 0x02;    // hipHostMallocPortable | hipHostMallocMapped
constexpr unsigned kHipCoherent = 0x40000000;           // hipHostMallocCoherent
constexpr unsigned kHipFineGrained = 1;                 // hipDeviceMallocFinegrained
constexpr unsigned kHipUncached = 3;                    // hipDeviceMallocUncached
constexpr unsigned kHipAttachGlobal = 1;                // hipMemAttachGlobal
constexpr unsigned kHipNonBlocking = 1;                 // hipStreamNonBlocking
constexpr unsigned kHipWaitEqual = 1, kHipWaitAnd = 2;  // hipStreamWaitValueEq, hipStreamWaitValueAnd
constexpr unsigned kHipPlainEvent = 0x02;               // hipEventDisableTiming
constexpr unsigned kHipSharedEvent = 0x02 | 0x04;       // hipEventDisableTiming | hipEventInterprocess
constexpr unsigned kHipLazyPeers = 1;                   // hipIpcMemLazyEnablePeerAccess
constexpr int kHipAnyKind = 4;                          // hipMemcpyDefault
constexpr int kHipNotSupported = 801;                   // hipErrorNotSupported
constexpr int kHipPeersAlready = 704;                   // hipErrorPeerAccessAlreadyEnabled

/// The argument of a host function by which a graph sets a flag or waits for it.
struct FlagTask {
  std::atomic<uint32_t>* word;
  uint32_t value;
  GpuCondition test = GpuCondition::equals;

  bool passes() const {
    const uint32_t now = word->load(std::memory_order_acquire);
    return test == GpuCondition::equals ? now == value : (now & value) != 0;
  }
};

void set_on_host(void* argument) {
  const FlagTask& task = *static_cast<FlagTask*>(argument);
  task.word->store(task.value, std::memory_order_release);
}
void await_on_host(void* argument) {
  const FlagTask& task = *static_cast<FlagTask*>(argument);
  for (int i = 0; !task.passes(); ++i)
    if (i >= 1000) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

/// What hipMalloc returns is coherent only when a kernel begins and ends. Drivers before ROCm 6 have no
/// uncached memory, but fine-grained memory.
int allocate_coherent(const HipTable& table, size_t bytes, void** memory) {
  if (table.mem_alloc_flags == nullptr) return kHipNotSupported;
  if (table.mem_alloc_flags(memory, bytes, kHipUncached) == 0) return 0;
  table.last_error();  // clears the error, which the caller would otherwise read as its own
  return table.mem_alloc_flags(memory, bytes, kHipFineGrained);
}

class HipApi {
 public:
  static constexpr const char* kName = "HIP";
  static constexpr const char* kCode = "hip";

  static Result<std::unique_ptr<HipApi>> open(bool load) {
    // Python wheels contain the library under the last of these names.
    auto library = load ? Library::open_for_good("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                                 "libamdhip64.so")
                        : Library::open_loaded("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                               "libamdhip64.so");
    if (!library.ok()) return library.status();
    auto api = std::make_unique<HipApi>(std::move(*library));
    if (const char* missing = api->table_.find_in(api->library_); missing != nullptr)
      return Status(Code::system_error,
                    fmt::format("libamdhip64.so lacks {}; expected ROCm 5.2 or newer", missing));
    return api;
  }
  explicit HipApi(Library library)
      : library_(std::move(library)), maps_(mappings_.find_in(library_) == nullptr) {
    direct_.find_in(library_);
  }

  /// Makes the GPU the calling thread's current one during its lifetime.
  class Current {
   public:
    Current(HipApi& api, int gpu) : api_(api), gpu_(gpu) {
      status_ = api_.say("hipGetDevice", api_.table_.get_device(&before_));
      if (status_.ok() && before_ != gpu) status_ = api_.say("hipSetDevice", api_.table_.set_device(gpu));
    }
    ~Current() {
      if (status_.ok() && before_ != gpu_) api_.table_.set_device(before_);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    Status status() const { return status_; }

   private:
    HipApi& api_;
    const int gpu_;
    int before_ = 0;
    Status status_;
  };

  int exchange_capture_mode(int mode) {
    table_.exchange_capture_mode(&mode);
    return mode;
  }

  // Process and threads.
  Status start() { return say("hipInit", table_.init(0)); }
  Status count(int* gpus) { return say("hipGetDeviceCount", table_.device_count(gpus)); }
  Status name(int gpu, char* text, int bytes) {
    return say("hipDeviceGetName", table_.device_name(text, bytes, gpu));
  }
  Status address(int gpu, char* text, int bytes) {
    return say("hipDeviceGetPCIBusId", table_.device_address(text, bytes, gpu));
  }
  Status multiprocessors(int gpu, int* count) {
    return say("hipDeviceGetAttribute", table_.device_attribute(count, kHipMultiprocessors, gpu));
  }
  Status current(int* gpu) { return say("hipGetDevice", table_.get_device(gpu)); }
  Status stream_gpu(GpuStream stream, int* gpu) {
    *gpu = table_.stream_device(stream);
    if (*gpu >= 0) return {};
    return Status(Code::system_error, "hipGetStreamDeviceId failed: unknown stream");
  }
  GpuPlace locate(const void* address) {
    HipPointer pointer{};
    if (table_.pointer_attributes(&pointer, address) != 0) {
      table_.last_error();  // clears the error, which the caller would otherwise read as its own
      return {};
    }
    if (pointer.managed != 0) return {GpuMemory::managed, pointer.device};
    if (table_.properties_of_6 == nullptr)
      ++pointer.type;  // HIP 6 inserted a value for "unregistered" before the others
    constexpr GpuMemory kKinds[] = {GpuMemory::host, GpuMemory::pinned, GpuMemory::device,
                                    GpuMemory::managed};
    if (pointer.type < 0 || pointer.type > 3) return {};
    return {kKinds[pointer.type], pointer.device};
  }

  // Memory.
  Status allocate(GpuMemory kind, size_t bytes, void** memory) {
    switch (kind) {
      case GpuMemory::pinned:
        return say("hipHostMalloc", table_.mem_host_alloc(memory, bytes, kHipPortableMapped | kHipCoherent));
      case GpuMemory::device: return say("hipMalloc", table_.mem_alloc(memory, bytes));
      case GpuMemory::coherent:
        return say("hipExtMallocWithFlags, neither for uncached nor for fine-grained memory,",
                   allocate_coherent(table_, bytes, memory));
      default: return say("hipMallocManaged", table_.mem_alloc_managed(memory, bytes, kHipAttachGlobal));
    }
  }
  Status free(GpuMemory kind, void* memory) {
    return kind == GpuMemory::pinned ? say("hipHostFree", table_.mem_host_free(memory))
                                     : say("hipFree", table_.mem_free(memory));
  }
  Status pin(void* memory, size_t bytes) {
    return say("hipHostRegister", table_.mem_host_register(memory, bytes, kHipPortableMapped));
  }
  Status unpin(void* memory) { return say("hipHostUnregister", table_.mem_host_unregister(memory)); }
  Status flag_address(void* pinned, uint64_t* device) {
    void* address = nullptr;
    WEIR_TRY(say("hipHostGetDevicePointer", table_.mem_host_address(&address, pinned, 0)));
    *device = reinterpret_cast<uint64_t>(address);
    return {};
  }

  // Streams. HIP executes writes and waits of values immediately even on a captured stream, so a graph gets
  // host functions that do the same.
  Status copy(void* to, const void* from, size_t bytes, GpuStream stream) {
    return say("hipMemcpyAsync", table_.copy(to, from, bytes, kHipAnyKind, stream));
  }
  Status set(GpuFlag flag, uint32_t value, GpuStream stream) {
    bool captured = false;
    WEIR_TRY(captures(stream, &captured));
    if (captured) return call(set_on_host, kept({flag.host, value}), stream);
    return say("hipStreamWriteValue32",
               table_.write_value(stream, reinterpret_cast<void*>(flag.device), value, 0));
  }
  Status await(GpuFlag flag, uint32_t value, GpuCondition test, GpuStream stream) {
    bool captured = false;
    WEIR_TRY(captures(stream, &captured));
    if (captured) return call(await_on_host, kept({flag.host, value, test}), stream);
    const unsigned how = test == GpuCondition::equals ? kHipWaitEqual : kHipWaitAnd;
    return say("hipStreamWaitValue32",
               table_.wait_value(stream, reinterpret_cast<void*>(flag.device), value, how, 0xffffffff));
  }
  Status call(void (*function)(void*), void* argument, GpuStream stream) {
    if (table_.launch_host == nullptr)
      return Status(Code::system_error, "the driver lacks hipLaunchHostFunc; expected ROCm 5.3 or newer");
    return say("hipLaunchHostFunc", table_.launch_host(stream, function, argument));
  }
  Status captures(GpuStream stream, bool* captures) {
    int state = 0;
    WEIR_TRY(say("hipStreamIsCapturing", table_.stream_capturing(stream, &state)));
    *captures = state != 0;
    return {};
  }
  Status make_stream(GpuStream* stream) {
    return say("hipStreamCreateWithFlags", table_.stream_create(stream, kHipNonBlocking));
  }
  Status destroy_stream(GpuStream stream) { return say("hipStreamDestroy", table_.stream_destroy(stream)); }
  Status synchronize(GpuStream stream) {
    return say("hipStreamSynchronize", table_.stream_synchronize(stream));
  }

  // Sharing.
  Status range(const void* memory, void** begin) {
    size_t bytes = 0;
    return say("hipMemGetAddressRange", table_.mem_range(begin, &bytes, const_cast<void*>(memory)));
  }
  Status share(void* base, std::array<std::byte, 64>* bytes) {
    HipIpcHandle handle{};
    WEIR_TRY(say("hipIpcGetMemHandle", table_.ipc_mem_handle(&handle, base)));
    std::memcpy(bytes->data(), handle.bytes, sizeof(handle));
    return {};
  }
  Status attach(const std::array<std::byte, 64>& bytes, void** base) {
    HipIpcHandle handle;
    std::memcpy(handle.bytes, bytes.data(), sizeof(handle));
    return say("hipIpcOpenMemHandle", table_.ipc_mem_open(base, handle, kHipLazyPeers));
  }
  Status detach(void* base) { return say("hipIpcCloseMemHandle", table_.ipc_mem_close(base)); }
  Status can_reach(int gpu, int other, int* can) {
    return say("hipDeviceCanAccessPeer", table_.can_access_peer(can, gpu, other));
  }
  Status reach(int other) {
    const int code = table_.enable_peer_access(other, 0);
    if (code != kHipPeersAlready) return say("hipDeviceEnablePeerAccess", code);
    table_.last_error();
    return {};
  }
  Status make_event(GpuEventUse use, void** event) {
    const unsigned flags = use == GpuEventUse::processes ? kHipSharedEvent : kHipPlainEvent;
    return say("hipEventCreateWithFlags", table_.event_create(event, flags));
  }
  Status destroy_event(void* event) { return say("hipEventDestroy", table_.event_destroy(event)); }
  Status record(void* event, GpuStream stream) {
    return say("hipEventRecord", table_.event_record(event, stream));
  }
  Status wait(void* event, GpuStream stream) {
    return say("hipStreamWaitEvent", table_.stream_wait_event(stream, event, 0));
  }
  Status share_event(void* event, std::array<std::byte, 64>* bytes) {
    HipIpcHandle handle{};
    WEIR_TRY(say("hipIpcGetEventHandle", table_.ipc_event_handle(&handle, event)));
    std::memcpy(bytes->data(), handle.bytes, sizeof(handle));
    return {};
  }
  Status open_event(const std::array<std::byte, 64>& bytes, void** event) {
    HipIpcHandle handle;
    std::memcpy(handle.bytes, bytes.data(), sizeof(handle));
    return say("hipIpcOpenEventHandle", table_.ipc_event_open(event, handle));
  }

  // Virtual memory, for gpu_mappings-inl.h.
  using Mappings = drivers::HipMappingTable;
  using Address = void*;
  using Handle = void*;
  /// Before HIP 6 the calls were a draft with different structures.
  bool maps() const { return maps_ && table_.properties_of_6 != nullptr; }
  Mappings& mappings() { return mappings_; }
  static Address to_address(void* pointer) { return pointer; }
  static void* to_pointer(Address address) { return address; }
  Status say_of(const char* call, int code) {
    return code == 0 ? Status() : say((std::string("hip") + call).c_str(), code);
  }

  // NICs that access GPU memory, for gpu_direct-inl.h.
  Status to_dmabuf(void* memory, size_t bytes, int* descriptor) {
    if (direct_.to_dmabuf == nullptr)
      return {Code::system_error, "the driver lacks hipMemGetHandleForAddressRange; expected HIP 7 or newer"};
    return say("hipMemGetHandleForAddressRange",
               direct_.to_dmabuf(descriptor, memory, bytes, drivers::kDmabufHandle, 0));
  }
  /// HIP has no query for this.
  Status sees_writes(int, bool* flushes) {
    *flushes = true;
    return {Code::system_error, "cannot confirm that NIC writes become visible to kernels on this GPU"};
  }
  Status flush_writes() { return {}; }

  // Kernels.
  Status load(const void* image, void** module) {
    return say("hipModuleLoadData", table_.module_load(module, image));
  }
  Status unload(void* module) { return say("hipModuleUnload", table_.module_unload(module)); }
  Status find(void* module, const char* name, void** kernel) {
    return say("hipModuleGetFunction", table_.module_function(kernel, module, name));
  }
  Status launch(const GpuLaunch& launch, GpuStream stream) {
    return say("hipModuleLaunchKernel",
               table_.launch(launch.kernel, launch.blocks, 1, 1, launch.threads, 1, 1, launch.shared_bytes,
                             stream, launch.arguments, nullptr));
  }
  Status resident_blocks(void* kernel, uint32_t threads, uint32_t shared_bytes, int* blocks) {
    return say("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
               table_.resident_blocks(blocks, kernel, static_cast<int>(threads), shared_bytes));
  }

 private:
  /// Converts an error, and clears HIP's last error, so that the caller does not see it a second time.
  Status say(const char* call, int code) {
    if (code == 0) return {};
    table_.last_error();
    return driver_status(call, code, table_.error_name(code), table_.error_string(code));
  }
  /// Keeps a task permanently, because a graph may use it at any time; this costs 16 bytes per captured flag.
  FlagTask* kept(const FlagTask& task) {
    const std::lock_guard lock(mutex_);
    return &tasks_.emplace_back(task);
  }

  const Library library_;
  HipTable table_;
  drivers::HipMappingTable mappings_;
  drivers::HipDirectTable direct_;
  const bool maps_;
  std::mutex mutex_;
  std::deque<FlagTask> tasks_;
};

}  // namespace

std::unique_ptr<Gpus> make_hip_gpus() { return std::make_unique<VendorGpus<HipApi>>(); }

}  // namespace weir::device
