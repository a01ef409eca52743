// SPDX-License-Identifier: Apache-2.0
// libcuda.so.1 of the stand-in: the driver API under its own names. Contexts are the GPUs' primary ones.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/drivers/cuda_table.h"
#include "src/drivers/direct_table.h"
#include "stand_in/calls.h"
#include "stand_in/device_list.h"
#include "stand_in/graphs.h"
#include "stand_in/mappings.h"
#include "stand_in/modules.h"
#include "stand_in/multiprocessors.h"

using namespace fake;
using weir::drivers::CudaAddress;
using weir::drivers::CudaIpcHandle;

namespace {

struct Context {
  int gpu = 0;
};
std::array<Context, kMostGpus> contexts = [] {
  std::array<Context, kMostGpus> made;
  for (int gpu = 0; gpu < kMostGpus; ++gpu) made[static_cast<size_t>(gpu)].gpu = gpu;
  return made;
}();
std::atomic<bool> retained[kMostGpus];
/// The contexts that a thread has pushed; without a destructor, since other destructors may call after it.
struct ContextStack {
  static constexpr int kMost = 64;
  Context* contexts[kMost];
  int depth;

  bool empty() const { return depth == 0; }
  Context* back() const { return contexts[depth - 1]; }
  void pop_back() { --depth; }
  void push_back(Context* context) {
    if (depth < kMost) contexts[depth++] = context;
  }
};
thread_local ContextStack stack;

void* pointer_of(CudaAddress address) { return reinterpret_cast<void*>(address); }
CudaAddress address_of(const void* pointer) { return reinterpret_cast<CudaAddress>(pointer); }

void follow_stack() { set_current_gpu(stack.empty() || stack.back() == nullptr ? -1 : stack.back()->gpu); }

/// Success, or why a call that needs a context fails.
int ready() {
  if (const int code = usable(0); code == kNotInitialized) return code;
  return current_gpu() < 0 ? static_cast<int>(kInvalidContext) : usable(current_gpu());
}
/// The same for a call that a capture forbids.
int ready_and_free() {
  const int code = ready();
  return code != kSuccess ? code : forbidden();
}

int started() { return usable(0) == kNotInitialized ? kNotInitialized : kSuccess; }

int put_uuid(unsigned char* to, const Uuid& uuid) {
  std::copy(uuid.begin(), uuid.end(), to);
  return kSuccess;
}

}  // namespace

extern "C" {

int cuInit(unsigned flags) { return flags != 0 ? static_cast<int>(kInvalidValue) : start(); }
int cuDriverGetVersion(int* version) {
  const char* const text = std::getenv("WEIR_FAKE_GPU_VERSION");
  return *version = text != nullptr ? std::atoi(text) : 13000, kSuccess;
}
int cuGetErrorName(int code, const char** name) {
  static thread_local char text[64];
  if (error_name(code) == nullptr) return *name = nullptr, kInvalidValue;
  std::snprintf(text, sizeof(text), "%s%s", code == kSuccess ? "CUDA_" : "CUDA_ERROR_", error_name(code));
  return *name = text, kSuccess;
}
int cuGetErrorString(int code, const char** text) {
  return *text = error_text(code), *text != nullptr ? kSuccess : kInvalidValue;
}
int cuDeviceGetCount(int* count) {
  if (started() != kSuccess) return kNotInitialized;
  return *count = gpu_count(), kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  if (started() != kSuccess) return kNotInitialized;
  return ordinal < 0 || ordinal >= gpu_count() ? kInvalidDevice : (*device = ordinal, kSuccess);
}
int cuDeviceGetName(char* text, int bytes, int device) {
  if (device < 0 || device >= gpu_count()) return kInvalidDevice;
  return std::snprintf(text, static_cast<size_t>(bytes), instances() > 1 ? "Stand-in MIG" : "Stand-in"),
         kSuccess;
}
int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
  if (device < 0 || device >= gpu_count()) return kInvalidDevice;
  return write_address(device, text, bytes), kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (device < 0 || device >= gpu_count()) return kInvalidDevice;
  *value = attribute == 16                               ? multiprocessors()
           : attribute == 75                             ? 9
           : attribute == 76                             ? 0
           : attribute == weir::drivers::kWritesOrdering ? 0
                                                         : 1;  // multiprocessors; capability 9.0
  return kSuccess;
}

/// That of the GPU, even where the device is an instance of it.
int cuDeviceGetUuid(unsigned char* uuid, int device) {
  if (device < 0 || device >= gpu_count()) return kInvalidDevice;
  return put_uuid(uuid, uuid_of_gpu(machine_device(device) / instances()));
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  if (instances() == 1 || device < 0 || device >= gpu_count()) return cuDeviceGetUuid(uuid, device);
  return put_uuid(uuid, uuid_of_instance(machine_device(device)));
}
/// Nobody is told anything.
int cuLogsRegisterCallback(void*, void*, void** handle) { return *handle = nullptr, kSuccess; }
int cuLogsUnregisterCallback(void*) { return kSuccess; }

int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (started() != kSuccess) return kNotInitialized;
  if (device < 0 || device >= gpu_count()) return kInvalidDevice;
  retained[device] = true;
  return *context = &contexts[static_cast<size_t>(device)], kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return device < 0 || device >= gpu_count() ? kInvalidDevice : kSuccess;
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (started() != kSuccess) return kNotInitialized;
  if (device < 0 || device >= gpu_count()) return kInvalidDevice;
  return *flags = 0, *active = retained[device], kSuccess;
}
int cuCtxGetCurrent(void** context) {
  if (started() != kSuccess) return kNotInitialized;
  return *context = stack.empty() ? nullptr : stack.back(), kSuccess;
}
int cuCtxSetCurrent(void* context) {
  if (started() != kSuccess) return kNotInitialized;
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(static_cast<Context*>(context));
  return follow_stack(), kSuccess;
}
int cuCtxPushCurrent_v2(void* context) {
  if (context == nullptr || stack.depth == ContextStack::kMost) return kInvalidContext;
  stack.push_back(static_cast<Context*>(context));
  return follow_stack(), kSuccess;
}
int cuCtxPopCurrent_v2(void** context) {
  if (stack.empty()) return kInvalidContext;
  *context = stack.back();
  stack.pop_back();
  return follow_stack(), kSuccess;
}
int cuCtxGetDevice(int* device) {
  if (started() != kSuccess) return kNotInitialized;
  return current_gpu() < 0 ? kInvalidContext : (*device = current_gpu(), kSuccess);
}
int cuCtxSynchronize() {
  const int code = ready_and_free();
  return code != kSuccess ? code : synchronize_gpu(current_gpu());
}
int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  if (device < 0 || device >= gpu_count() || peer < 0 || peer >= gpu_count()) return kInvalidDevice;
  return *can = can_reach(device, peer), kSuccess;
}
int cuCtxEnablePeerAccess(void* context, unsigned) {
  const int code = ready();
  return code != kSuccess ? code : enable_peer(current_gpu(), static_cast<Context*>(context)->gpu);
}

int cuMemAlloc_v2(CudaAddress* address, size_t bytes) {
  if (const int code = ready_and_free(); code != kSuccess) return code;
  void* memory = nullptr;
  const int code = allocate(Kind::device, current_gpu(), bytes, &memory);
  return *address = address_of(memory), code;
}
int cuMemGetInfo_v2(size_t* left, size_t* whole) {
  const int code = ready();
  return code != kSuccess ? code : (*left = free_bytes(current_gpu()), *whole = gpu_bytes(), kSuccess);
}
int cuMemAllocManaged(CudaAddress* address, size_t bytes, unsigned) {
  if (const int code = ready_and_free(); code != kSuccess) return code;
  void* memory = nullptr;
  const int code = allocate(Kind::managed, current_gpu(), bytes, &memory);
  return *address = address_of(memory), code;
}
int cuMemFree_v2(CudaAddress address) {
  const int code = ready_and_free();
  return code != kSuccess ? code : release(false, pointer_of(address));
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  const int code = ready_and_free();
  return code != kSuccess ? code : allocate(Kind::pinned, current_gpu(), bytes, memory);
}
int cuMemFreeHost(void* memory) {
  const int code = ready_and_free();
  return code != kSuccess ? code : release(true, memory);
}
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned) {
  const int code = ready_and_free();
  return code != kSuccess ? code : pin(memory, current_gpu(), bytes);
}
int cuMemHostUnregister(void* memory) {
  const int code = ready_and_free();
  return code != kSuccess ? code : unpin(memory);
}
int cuMemHostGetDevicePointer_v2(CudaAddress* address, void* memory, unsigned) {
  Block block;
  if (!find_block(memory, &block) || block.kind == Kind::device) return kInvalidValue;
  return *address = address_of(memory), kSuccess;
}
int cuMemGetAddressRange_v2(CudaAddress* base, size_t* bytes, CudaAddress address) {
  Block block;
  if (!find_block(pointer_of(address), &block)) return kNotFound;
  return *base = address_of(block.begin), *bytes = block.bytes, kSuccess;
}
int cuPointerGetAttributes(unsigned count, int* attributes, void** values, CudaAddress address) {
  if (started() != kSuccess) return kNotInitialized;
  Block block;
  const bool known = find_block(pointer_of(address), &block);
  for (unsigned i = 0; i < count; ++i) {
    int& value = *static_cast<int*>(values[i]);
    if (attributes[i] == 2)  // memory type
      value = !known ? 0 : block.kind == Kind::pinned ? 1 : 2;
    else if (attributes[i] == 8)
      *static_cast<bool*>(values[i]) = known && block.kind == Kind::managed;
    else if (attributes[i] == 9)
      value = known ? block.gpu : -2;
    else
      return kInvalidValue;
  }
  return kSuccess;
}
int cuPointerGetAttribute(void* value, int attribute, CudaAddress address) {
  return cuPointerGetAttributes(1, &attribute, &value, address);
}
int cuMemcpyAsync(CudaAddress to, CudaAddress from, size_t bytes, void* stream) {
  const int code = ready();
  return code != kSuccess ? code : copy(pointer_of(to), pointer_of(from), bytes, stream_of(stream));
}
int cuMemcpy(CudaAddress to, CudaAddress from, size_t bytes) {
  if (const int code = ready_and_free(); code != kSuccess) return code;
  const int code = copy(pointer_of(to), pointer_of(from), bytes, stream_of(nullptr));
  return code != kSuccess ? code : synchronize(stream_of(nullptr));
}
int cuMemsetD8Async(CudaAddress to, unsigned char value, size_t bytes, void* stream) {
  const int code = ready();
  return code != kSuccess ? code : fill(pointer_of(to), value, bytes, stream_of(stream));
}
int cuMemsetD32Async(CudaAddress to, unsigned value, size_t words, void* stream) {
  const int code = ready();
  return code != kSuccess ? code : fill_words(pointer_of(to), value, words, stream_of(stream));
}
int cuIpcGetMemHandle(CudaIpcHandle* handle, CudaAddress address) {
  MemoryHandle made;
  const int code = ready() != kSuccess ? ready() : make_handle(pointer_of(address), &made);
  if (code == kSuccess) std::memcpy(handle, &made, sizeof(made));
  return code;
}
int cuIpcOpenMemHandle_v2(CudaAddress* address, CudaIpcHandle handle, unsigned) {
  if (const int code = ready_and_free(); code != kSuccess) return code;
  MemoryHandle given;
  std::memcpy(&given, &handle, sizeof(given));
  void* memory = nullptr;
  const int code = attach(given, current_gpu(), &memory);
  return *address = address_of(memory), code;
}
int cuIpcCloseMemHandle(CudaAddress address) {
  const int code = ready_and_free();
  return code != kSuccess ? code : detach(pointer_of(address));
}
int cuMemGetHandleForAddressRange(void* file, CudaAddress address, size_t bytes, int kind,
                                  unsigned long long) {
  const int code = started();
  if (code != kSuccess || kind != weir::drivers::kDmabufHandle)
    return code != kSuccess ? code : kInvalidValue;
  return dmabuf_of(pointer_of(address), bytes, static_cast<int*>(file));
}
int cuFlushGPUDirectRDMAWrites(int target, int scope) {
  if (ready_and_free() != kSuccess) return ready_and_free();
  return target == 0 && scope == 100 && !fault_is_set("flush") ? kSuccess : kNotSupported;
}
using Memory = unsigned long long;
static_assert(sizeof(Memory) == sizeof(uint64_t));
int cuMemGetAllocationGranularity(size_t* bytes, const weir::drivers::MappingProperties* properties, int) {
  const int code = started();
  return code != kSuccess ? code : mapping_unit(bytes, properties);
}
int cuMemCreate(Memory* memory, size_t bytes, const weir::drivers::MappingProperties* properties, Memory) {
  uint64_t handle = 0;
  const int code = started() != kSuccess ? started() : make_memory(&handle, bytes, properties);
  return *memory = handle, code;
}
int cuMemRelease(Memory memory) { return drop_memory(memory); }
int cuMemExportToShareableHandle(void* file, Memory memory, int kind, Memory) {
  return memory_to_file(file, memory, kind);
}
int cuMemImportFromShareableHandle(Memory* memory, void* file, int kind) {
  uint64_t handle = 0;
  const int code = memory_from_file(&handle, file, kind);
  return *memory = handle, code;
}
int cuMemAddressReserve(CudaAddress* address, size_t bytes, size_t, CudaAddress, Memory) {
  void* at = nullptr;
  const int code = reserve_addresses(&at, bytes);
  return *address = address_of(at), code;
}
int cuMemAddressFree(CudaAddress address, size_t bytes) { return free_addresses(pointer_of(address), bytes); }
int cuMemMap(CudaAddress address, size_t bytes, size_t offset, Memory memory, Memory) {
  return map_memory(pointer_of(address), bytes, offset, memory);
}
int cuMemUnmap(CudaAddress address, size_t bytes) {
  const int code = ready_and_free();
  return code != kSuccess ? code : unmap_memory(pointer_of(address), bytes);
}
int cuMemSetAccess(CudaAddress address, size_t bytes, const weir::drivers::MappingAccess* access,
                   size_t count) {
  return allow_access(pointer_of(address), bytes, access, count);
}

int cuStreamCreate(void** stream, unsigned flags) {
  const int code = ready_and_free();
  return code != kSuccess ? code : make_stream(current_gpu(), (flags & 1) == 0, stream);
}
int cuStreamCreateWithPriority(void** stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
int cuStreamDestroy_v2(void* stream) { return destroy_stream(stream); }
int cuStreamSynchronize(void* stream) {
  const int code = ready();
  return code != kSuccess ? code : synchronize(stream_of(stream));
}
int cuStreamQuery(void* stream) {
  const int code = ready();
  return code != kSuccess ? code : query(stream_of(stream));
}
int cuStreamGetCtx(void* stream, void** context) {
  if (started() != kSuccess) return kNotInitialized;
  const auto found = stream_of(stream);
  return found == nullptr ? kInvalidHandle
                          : (*context = &contexts[static_cast<size_t>(found->gpu)], kSuccess);
}
int cuStreamIsCapturing(void* stream, int* state) { return capture_state(stream_of(stream), state); }
int cuStreamBeginCapture_v2(void* stream, int mode) {
  const int code = ready();
  return code != kSuccess ? code : begin_capture(stream_of(stream), static_cast<Mode>(mode));
}
int cuStreamEndCapture(void* stream, void** graph) {
  return end_capture(stream_of(stream), reinterpret_cast<Graph**>(graph));
}
int cuThreadExchangeStreamCaptureMode(int* mode) { return exchange_mode(mode); }
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return wait(static_cast<Event*>(event), stream_of(stream));
}
int cuStreamWriteValue32_v2(void* stream, CudaAddress address, uint32_t value, unsigned) {
  const int code = ready();
  return code != kSuccess ? code : write_value(pointer_of(address), value, stream_of(stream));
}
int cuStreamWaitValue32_v2(void* stream, CudaAddress address, uint32_t value, unsigned flags) {
  const int code = ready();
  return code != kSuccess ? code : wait_value(pointer_of(address), value, flags & 0xffff, stream_of(stream));
}
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* argument) {
  const int code = ready();
  return code != kSuccess ? code : call_host(function, argument, stream_of(stream));
}

int cuEventCreate(void** event, unsigned flags) {
  const int code = ready();
  if ((flags & 4) != 0 && (flags & 2) == 0) return kInvalidValue;
  return code != kSuccess ? code : make_event((flags & 4) != 0, event);
}
int cuEventDestroy_v2(void* event) { return event == nullptr ? kInvalidHandle : destroy_event(event); }
int cuEventRecord(void* event, void* stream) { return record(static_cast<Event*>(event), stream_of(stream)); }
int cuEventQuery(void* event) { return query(static_cast<Event*>(event)); }
int cuEventElapsedTime_v2(float* milliseconds, void* begin, void* end) {
  return elapsed(static_cast<Event*>(begin), static_cast<Event*>(end), milliseconds);
}
int cuEventSynchronize(void* event) { return synchronize(static_cast<Event*>(event)); }
int cuIpcGetEventHandle(CudaIpcHandle* handle, void* event) {
  EventHandle made;
  const int code = make_handle(static_cast<Event*>(event), &made);
  if (code == kSuccess) std::memcpy(handle, &made, sizeof(made));
  return code;
}
int cuIpcOpenEventHandle(void** event, CudaIpcHandle handle) {
  EventHandle given;
  std::memcpy(&given, &handle, sizeof(given));
  const int code = ready_and_free();
  return code != kSuccess ? code : open_event(given, event);
}

/// What the stand-in's runtime asks of it: as cuStreamGetCaptureInfo, whose arguments depend on the version.
int fake_capture_info(void* stream, int* state, unsigned long long* number, void** graph) {
  const auto found = stream_of(stream);
  uint64_t own = 0;
  Graph* captured = nullptr;
  capture_of(found, &own, &captured);
  *number = own;
  *graph = captured;
  return capture_state(found, state);
}
/// `release(object)` is called when the graph and all that is made of it are gone.
void fake_graph_keep(void* graph, void* object, void (*release)(void*)) {
  static_cast<Graph*>(graph)->kept.emplace_back(object, release);
}

int cuGraphInstantiateWithFlags(void** run, void* graph, unsigned long long) {
  const int code = ready_and_free();  // seen of a driver: not while this thread captures a stream
  return code != kSuccess ? code : (*run = instantiate(*static_cast<Graph*>(graph)), kSuccess);
}
int cuGraphLaunch(void* run, void* stream) { return launch(static_cast<GraphRun*>(run), stream_of(stream)); }
int cuGraphExecDestroy(void* run) { return destroy(static_cast<GraphRun*>(run)), kSuccess; }
int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kSuccess;
}

int cuModuleLoadData(void** module, const void* image) {
  const int code = ready_and_free();
  return code != kSuccess ? code : load_module(image, reinterpret_cast<Module**>(module));
}
int cuModuleUnload(void* module) { return unload_module(static_cast<Module*>(module)); }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  return find_kernel(static_cast<Module*>(module), name, reinterpret_cast<Kernel**>(function));
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, size_t shared) {
  if (threads <= 0) return kInvalidValue;
  return *blocks = resident_blocks({static_cast<unsigned>(threads), shared}), kSuccess;
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments,
                   void**) {
  const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
  const int code = ready();
  return code != kSuccess ? code
                          : launch_kernel(static_cast<Kernel*>(function), grid, block, shared, arguments,
                                          stream_of(stream));
}
}
