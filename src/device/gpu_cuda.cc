// SPDX-License-Identifier: Apache-2.0
// CUDA's driver API behind the interface that gpu_vendor-inl.h requires.
#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "src/device/gpu_error.h"
#include "src/device/gpu_vendor-inl.h"
#include "src/device/gpus.h"
#include "src/drivers/cuda_table.h"
#include "src/drivers/direct_table.h"
#include "src/drivers/mapping_table.h"

namespace weir::device {
namespace {

using drivers::CudaAddress;
using drivers::CudaContext;
using drivers::CudaIpcHandle;
using drivers::CudaTable;
using drivers::Library;

// The driver API's numbers.
constexpr int kCudaMultiprocessors = 16;                  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr int kCudaMemoryType = 2;                        // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int kCudaIsManaged = 8;                         // CU_POINTER_ATTRIBUTE_IS_MANAGED
constexpr int kCudaDeviceOrdinal = 9;                     // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr unsigned kCudaHost = 1, kCudaDevice = 2;        // CU_MEMORYTYPE_*
constexpr unsigned kCudaPortableMapped = 0x01 | 0x02;     // CU_MEMHOSTALLOC_PORTABLE | _DEVICEMAP
constexpr unsigned kCudaAttachGlobal = 1;                 // CU_MEM_ATTACH_GLOBAL
constexpr unsigned kCudaNonBlocking = 1;                  // CU_STREAM_NON_BLOCKING
constexpr unsigned kCudaWaitEqual = 1, kCudaWaitAnd = 2;  // CU_STREAM_WAIT_VALUE_EQ, _AND
constexpr unsigned kCudaPlainEvent = 0x02;                // CU_EVENT_DISABLE_TIMING
constexpr unsigned kCudaSharedEvent = 0x02 | 0x04;        // CU_EVENT_DISABLE_TIMING | _INTERPROCESS
constexpr unsigned kCudaLazyPeers = 1;                    // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
constexpr int kCudaPeersAlready = 704;                    // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED

CudaAddress address_of(const void* pointer) { return reinterpret_cast<CudaAddress>(pointer); }
void* pointer_of(CudaAddress address) { return reinterpret_cast<void*>(address); }

class CudaApi {
 public:
  static constexpr const char* kName = "CUDA";
  static constexpr const char* kCode = "cuda";

  static Result<std::unique_ptr<CudaApi>> open(bool load) {
    auto library = load ? Library::open_for_good("libcuda.so.1") : Library::open_loaded("libcuda.so.1");
    if (!library.ok()) return library.status();
    auto api = std::make_unique<CudaApi>(std::move(*library));
    if (const char* missing = api->table_.find_in(api->library_); missing != nullptr)
      return Status(Code::system_error,
                    fmt::format("libcuda.so.1 lacks {}; expected driver 450 (CUDA 11) or newer", missing));
    return api;
  }
  explicit CudaApi(Library library) : library_(std::move(library)) {
    if (mappings_.emplace().find_in(library_) != nullptr) mappings_.reset();
    direct_.find_in(library_);
  }

  /// Makes the GPU's primary context current during its lifetime.
  class Current {
   public:
    Current(CudaApi& api, int gpu) : api_(api) {
      CudaContext wanted = nullptr, now = nullptr;
      status_ = api_.primary(gpu, &wanted);
      if (!status_.ok()) return;
      status_ = api_.say("cuCtxGetCurrent", api_.table_.context_current(&now));
      if (!status_.ok() || now == wanted) return;
      status_ = api_.say("cuCtxPushCurrent", api_.table_.context_push(wanted));
      pushed_ = status_.ok();
    }
    ~Current() {
      CudaContext popped = nullptr;
      if (pushed_) api_.table_.context_pop(&popped);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    Status status() const { return status_; }

   private:
    CudaApi& api_;
    Status status_;
    bool pushed_ = false;
  };

  int exchange_capture_mode(int mode) {
    table_.exchange_capture_mode(&mode);
    return mode;
  }

  // Process and threads.
  Status start() { return say("cuInit", table_.init(0)); }
  Status count(int* gpus) { return say("cuDeviceGetCount", table_.device_count(gpus)); }
  Status name(int gpu, char* text, int bytes) {
    return say("cuDeviceGetName", table_.device_name(text, bytes, gpu));
  }
  Status address(int gpu, char* text, int bytes) {
    return say("cuDeviceGetPCIBusId", table_.device_address(text, bytes, gpu));
  }
  Status multiprocessors(int gpu, int* count) {
    return say("cuDeviceGetAttribute", table_.device_attribute(count, kCudaMultiprocessors, gpu));
  }
  /// Creates no context: if none is current, the result is the first GPU, as in CUDA's runtime.
  Status current(int* gpu) {
    CudaContext context = nullptr;
    WEIR_TRY(say("cuCtxGetCurrent", table_.context_current(&context)));
    *gpu = 0;
    return context == nullptr ? Status() : say("cuCtxGetDevice", table_.context_device(gpu));
  }
  Status stream_gpu(GpuStream stream, int* gpu) {
    CudaContext context = nullptr, popped = nullptr;
    WEIR_TRY(say("cuStreamGetCtx", table_.stream_context(stream, &context)));
    WEIR_TRY(say("cuCtxPushCurrent", table_.context_push(context)));
    const int code = table_.context_device(gpu);
    table_.context_pop(&popped);
    return say("cuCtxGetDevice", code);
  }
  /// Needs and creates no context. A driver that was not initialised does not know any address.
  GpuPlace locate(const void* address) {
    uint64_t type = 0, managed = 0, gpu = 0;  // large enough for every attribute
    int names[] = {kCudaMemoryType, kCudaIsManaged, kCudaDeviceOrdinal};
    void* values[] = {&type, &managed, &gpu};
    if (table_.pointer_attributes(3, names, values, address_of(address)) != 0) return {};
    const int index = static_cast<int>(static_cast<uint32_t>(gpu));
    if (static_cast<uint8_t>(managed) != 0) return {GpuMemory::managed, index};
    if (static_cast<uint32_t>(type) == kCudaHost) return {GpuMemory::pinned, index};
    if (static_cast<uint32_t>(type) == kCudaDevice) return {GpuMemory::device, index};
    return {};
  }

  // Memory.
  Status allocate(GpuMemory kind, size_t bytes, void** memory) {
    if (kind == GpuMemory::pinned)
      return say("cuMemHostAlloc", table_.mem_host_alloc(memory, bytes, kCudaPortableMapped));
    CudaAddress address = 0;
    const Status done =
        kind == GpuMemory::managed
            ? say("cuMemAllocManaged", table_.mem_alloc_managed(&address, bytes, kCudaAttachGlobal))
            : say("cuMemAlloc", table_.mem_alloc(&address, bytes));
    *memory = pointer_of(address);
    return done;
  }
  Status free(GpuMemory kind, void* memory) {
    return kind == GpuMemory::pinned ? say("cuMemFreeHost", table_.mem_host_free(memory))
                                     : say("cuMemFree", table_.mem_free(address_of(memory)));
  }
  Status pin(void* memory, size_t bytes) {
    return say("cuMemHostRegister", table_.mem_host_register(memory, bytes, kCudaPortableMapped));
  }
  Status unpin(void* memory) { return say("cuMemHostUnregister", table_.mem_host_unregister(memory)); }
  Status flag_address(void* pinned, uint64_t* device) {
    CudaAddress address = 0;
    WEIR_TRY(say("cuMemHostGetDevicePointer", table_.mem_host_address(&address, pinned, 0)));
    *device = address;
    return {};
  }

  // Streams.
  Status copy(void* to, const void* from, size_t bytes, GpuStream stream) {
    return say("cuMemcpyAsync", table_.copy(address_of(to), address_of(from), bytes, stream));
  }
  Status set(GpuFlag flag, uint32_t value, GpuStream stream) {
    if (table_.write_value == nullptr) return too_old("cuStreamWriteValue32_v2");
    return say("cuStreamWriteValue32", table_.write_value(stream, flag.device, value, 0));
  }
  Status await(GpuFlag flag, uint32_t value, GpuCondition test, GpuStream stream) {
    if (table_.wait_value == nullptr) return too_old("cuStreamWaitValue32_v2");
    const unsigned how = test == GpuCondition::equals ? kCudaWaitEqual : kCudaWaitAnd;
    return say("cuStreamWaitValue32", table_.wait_value(stream, flag.device, value, how));
  }
  Status call(void (*function)(void*), void* argument, GpuStream stream) {
    return say("cuLaunchHostFunc", table_.launch_host(stream, function, argument));
  }
  Status captures(GpuStream stream, bool* captures) {
    int state = 0;
    WEIR_TRY(say("cuStreamIsCapturing", table_.stream_capturing(stream, &state)));
    *captures = state != 0;
    return {};
  }
  Status make_stream(GpuStream* stream) {
    return say("cuStreamCreate", table_.stream_create(stream, kCudaNonBlocking));
  }
  Status destroy_stream(GpuStream stream) { return say("cuStreamDestroy", table_.stream_destroy(stream)); }
  Status synchronize(GpuStream stream) {
    return say("cuStreamSynchronize", table_.stream_synchronize(stream));
  }

  // Sharing.
  Status range(const void* memory, void** begin) {
    CudaAddress base = 0;
    size_t bytes = 0;
    WEIR_TRY(say("cuMemGetAddressRange", table_.mem_range(&base, &bytes, address_of(memory))));
    *begin = pointer_of(base);
    return {};
  }
  Status share(void* base, std::array<std::byte, 64>* bytes) {
    CudaIpcHandle handle{};
    WEIR_TRY(say("cuIpcGetMemHandle", table_.ipc_mem_handle(&handle, address_of(base))));
    std::memcpy(bytes->data(), handle.bytes, sizeof(handle));
    return {};
  }
  Status attach(const std::array<std::byte, 64>& bytes, void** base) {
    CudaIpcHandle handle;
    CudaAddress address = 0;
    std::memcpy(handle.bytes, bytes.data(), sizeof(handle));
    WEIR_TRY(say("cuIpcOpenMemHandle", table_.ipc_mem_open(&address, handle, kCudaLazyPeers)));
    *base = pointer_of(address);
    return {};
  }
  Status detach(void* base) { return say("cuIpcCloseMemHandle", table_.ipc_mem_close(address_of(base))); }
  Status can_reach(int gpu, int other, int* can) {
    return say("cuDeviceCanAccessPeer", table_.can_access_peer(can, gpu, other));
  }
  Status reach(int other) {
    CudaContext peer = nullptr;
    WEIR_TRY(primary(other, &peer));
    const int code = table_.enable_peer_access(peer, 0);
    return code == kCudaPeersAlready ? Status() : say("cuCtxEnablePeerAccess", code);
  }
  Status make_event(GpuEventUse use, void** event) {
    const unsigned flags = use == GpuEventUse::processes ? kCudaSharedEvent : kCudaPlainEvent;
    return say("cuEventCreate", table_.event_create(event, flags));
  }
  Status destroy_event(void* event) { return say("cuEventDestroy", table_.event_destroy(event)); }
  Status record(void* event, GpuStream stream) {
    return say("cuEventRecord", table_.event_record(event, stream));
  }
  Status wait(void* event, GpuStream stream) {
    return say("cuStreamWaitEvent", table_.stream_wait_event(stream, event, 0));
  }
  Status share_event(void* event, std::array<std::byte, 64>* bytes) {
    CudaIpcHandle handle{};
    WEIR_TRY(say("cuIpcGetEventHandle", table_.ipc_event_handle(&handle, event)));
    std::memcpy(bytes->data(), handle.bytes, sizeof(handle));
    return {};
  }
  Status open_event(const std::array<std::byte, 64>& bytes, void** event) {
    CudaIpcHandle handle;
    std::memcpy(handle.bytes, bytes.data(), sizeof(handle));
    return say("cuIpcOpenEventHandle", table_.ipc_event_open(event, handle));
  }

  // Virtual memory, for gpu_mappings-inl.h.
  using Mappings = drivers::CudaMappingTable;
  using Address = CudaAddress;
  using Handle = unsigned long long;
  bool maps() const { return mappings_.has_value(); }
  Mappings& mappings() { return *mappings_; }
  static Address to_address(const void* pointer) { return address_of(pointer); }
  static void* to_pointer(Address address) { return pointer_of(address); }
  Status say_of(const char* call, int code) {
    return code == 0 ? Status() : say((std::string("cu") + call).c_str(), code);
  }

  // NICs that access GPU memory, for gpu_direct-inl.h.
  Status to_dmabuf(void* memory, size_t bytes, int* descriptor) {
    if (direct_.to_dmabuf == nullptr) return too_old("cuMemGetHandleForAddressRange");
    return say("cuMemGetHandleForAddressRange",
               direct_.to_dmabuf(descriptor, address_of(memory), bytes, drivers::kDmabufHandle, 0));
  }
  Status sees_writes(int gpu, bool* flushes) {
    int ordering = 0, options = 0;
    if (table_.device_attribute(&ordering, drivers::kWritesOrdering, gpu) != 0) ordering = 0;
    if (table_.device_attribute(&options, drivers::kFlushOptions, gpu) != 0) options = 0;
    *flushes = ordering < drivers::kOrderedForOwner;
    if (!*flushes || (direct_.flush != nullptr && options % 2 != 0)) return {};
    return {Code::system_error, "kernels may not see NIC writes, and the driver cannot flush them"};
  }
  Status flush_writes() {
    return say("cuFlushGPUDirectRDMAWrites", direct_.flush(drivers::kCurrentContext, drivers::kToOwner));
  }

  // Kernels.
  Status load(const void* image, void** module) {
    return say("cuModuleLoadData", table_.module_load(module, image));
  }
  Status unload(void* module) { return say("cuModuleUnload", table_.module_unload(module)); }
  Status find(void* module, const char* name, void** kernel) {
    WEIR_TRY(say("cuModuleGetFunction", table_.module_function(kernel, module, name)));
    // Drivers load a kernel at its first use, and then wait until the GPU has run all others: too late when
    // one of these waits for this one. Any question about it counts as a use.
    int blocks = 0;
    return resident_blocks(*kernel, 1, 0, &blocks);
  }
  Status launch(const GpuLaunch& launch, GpuStream stream) {
    return say("cuLaunchKernel", table_.launch(launch.kernel, launch.blocks, 1, 1, launch.threads, 1, 1,
                                               launch.shared_bytes, stream, launch.arguments, nullptr));
  }
  Status resident_blocks(void* kernel, uint32_t threads, uint32_t shared_bytes, int* blocks) {
    return say("cuOccupancyMaxActiveBlocksPerMultiprocessor",
               table_.resident_blocks(blocks, kernel, static_cast<int>(threads), shared_bytes));
  }

 private:
  static constexpr int kMostGpus = 256;

  Status say(const char* call, int code) {
    if (code == 0) return {};
    const char *name = nullptr, *words = nullptr;
    table_.error_name(code, &name);
    table_.error_string(code, &words);
    return driver_status(call, code, name, words);
  }
  static Status too_old(const char* name) {
    return Status(Code::system_error,
                  fmt::format("the driver lacks {}; expected driver 515 (CUDA 11.7) or newer", name));
  }
  /// Retained once and never released: frameworks use the same context, and it ends with the process.
  Status primary(int gpu, CudaContext* context) {
    std::atomic<CudaContext>& kept = contexts_[static_cast<size_t>(gpu % kMostGpus)];
    *context = kept.load(std::memory_order_acquire);
    if (*context != nullptr) return {};
    WEIR_TRY(say("cuDevicePrimaryCtxRetain", table_.context_retain(context, gpu)));
    kept.store(*context, std::memory_order_release);
    return {};
  }

  const Library library_;
  CudaTable table_;
  std::optional<Mappings> mappings_;  ///< none: an older driver
  drivers::CudaDirectTable direct_;
  std::array<std::atomic<CudaContext>, kMostGpus> contexts_{};
};

}  // namespace

std::unique_ptr<Gpus> make_cuda_gpus() { return std::make_unique<VendorGpus<CudaApi>>(); }

}  // namespace weir::device
