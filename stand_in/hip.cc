// SPDX-License-Identifier: Apache-2.0
// libamdhip64.so.6 of the stand-in. As the real one it starts itself with the first call, keeps a thread's
// last error, and hands values for words to a stream even where it is captured.
#include <cstdio>
#include <cstring>

#include "src/drivers/direct_table.h"
#include "src/drivers/hip_table.h"
#include "stand_in/calls.h"
#include "stand_in/graphs.h"
#include "stand_in/mappings.h"
#include "stand_in/modules.h"
#include "stand_in/multiprocessors.h"

using namespace fake;
using weir::drivers::HipIpcHandle;
using weir::drivers::HipPointer;

namespace {

thread_local int last_error = kSuccess;

int keep(int code) {
  if (code != kSuccess) last_error = code;
  return code;
}
int here() { return current_gpu() < 0 ? 0 : current_gpu(); }
int ready() {
  if (const int code = start(); code != kSuccess) return keep(code);
  return keep(usable(here()));
}
int ready_and_free() {
  const int code = ready();
  return code != kSuccess ? code : keep(forbidden());
}
bool is_gpu(int device) { return device >= 0 && device < gpu_count(); }

}  // namespace

extern "C" {

int hipInit(unsigned) { return keep(start()); }
const char* hipGetErrorName(int code) {
  static thread_local char text[64];
  const char* name = error_name(code);
  if (name == nullptr) return "hipErrorUnknown";
  size_t at =
      static_cast<size_t>(std::snprintf(text, sizeof(text), "%s", code == kSuccess ? "hip" : "hipError"));
  for (bool large = true; *name != '\0'; ++name) {  // OUT_OF_MEMORY: OutOfMemory
    if (*name != '_') text[at++] = static_cast<char>(large ? *name : *name - 'A' + 'a');
    large = *name == '_';
  }
  text[at] = '\0';
  return text;
}
const char* hipGetErrorString(int code) {
  return error_text(code) != nullptr ? error_text(code) : "unknown error";
}
int hipGetLastError() {
  const int code = last_error;
  return last_error = kSuccess, code;
}
int hipPeekAtLastError() { return last_error; }
int hipGetDeviceCount(int* count) {
  const int code = start();
  return *count = code == kSuccess ? gpu_count() : 0, keep(code);
}
int hipDeviceGetName(char* text, int bytes, int device) {
  if (!is_gpu(device)) return keep(kInvalidDevice);
  return std::snprintf(text, static_cast<size_t>(bytes), "Stand-in"), kSuccess;
}
int hipDeviceGetPCIBusId(char* text, int bytes, int device) {
  if (!is_gpu(device)) return keep(kInvalidDevice);
  return write_address(device, text, bytes), kSuccess;
}
int hipDeviceGetAttribute(int* value, int attribute, int device) {
  if (!is_gpu(device)) return keep(kInvalidDevice);
  return *value = attribute == 63 ? multiprocessors() : 1, kSuccess;
}
int hipGetDevice(int* device) {
  const int code = start();
  return *device = here(), keep(code);
}
int hipSetDevice(int device) {
  if (const int code = start(); code != kSuccess) return keep(code);
  return is_gpu(device) ? (set_current_gpu(device), kSuccess) : keep(kInvalidDevice);
}
int hipGetDevicePropertiesR0600(void*, int) { return keep(kNotSupported); }
int hipDeviceSynchronize() {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(synchronize_gpu(here()));
}
int hipDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!is_gpu(device) || !is_gpu(peer)) return keep(kInvalidDevice);
  return *can = can_reach(device, peer), kSuccess;
}
int hipDeviceEnablePeerAccess(int peer, unsigned) {
  const int code = ready();
  return code != kSuccess ? code : keep(enable_peer(here(), peer));
}

int hipMalloc(void** memory, size_t bytes) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(allocate(Kind::device, here(), bytes, memory));
}
int hipExtMallocWithFlags(void** memory, size_t bytes, unsigned flags) {
  constexpr unsigned kFineGrained = 1, kUncached = 3;
  if (const int code = ready_and_free(); code != kSuccess) return code;
  if (flags != 0 && flags != kFineGrained && flags != kUncached) return keep(kInvalidValue);
  if (flags == kUncached && fault_is_set("uncached")) return keep(kInvalidValue);
  if (flags == kFineGrained && fault_is_set("finegrained")) return keep(kInvalidValue);
  return keep(allocate(Kind::device, here(), bytes, memory));
}
int hipMemGetInfo(size_t* left, size_t* whole) {
  const int code = ready();
  return code != kSuccess ? code : (*left = free_bytes(here()), *whole = gpu_bytes(), kSuccess);
}
int hipMallocManaged(void** memory, size_t bytes, unsigned) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(allocate(Kind::managed, here(), bytes, memory));
}
int hipFree(void* memory) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(release(false, memory));
}
int hipHostMalloc(void** memory, size_t bytes, unsigned) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(allocate(Kind::pinned, here(), bytes, memory));
}
int hipHostFree(void* memory) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(release(true, memory));
}
int hipHostRegister(void* memory, size_t bytes, unsigned) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(pin(memory, here(), bytes));
}
int hipHostUnregister(void* memory) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(unpin(memory));
}
int hipHostGetDevicePointer(void** address, void* memory, unsigned) {
  Block block;
  if (!find_block(memory, &block) || block.kind == Kind::device) return keep(kInvalidValue);
  return *address = memory, kSuccess;
}
int hipMemGetAddressRange(void** base, size_t* bytes, void* address) {
  Block block;
  if (!find_block(address, &block)) return keep(kNotFound);
  return *base = block.begin, *bytes = block.bytes, kSuccess;
}
int hipPointerGetAttributes(HipPointer* pointer, const void* address) {
  if (const int code = start(); code != kSuccess) return keep(code);
  *pointer = HipPointer{};
  Block block;
  if (!find_block(address, &block)) return keep(kInvalidValue);
  pointer->type = block.kind == Kind::pinned ? 1 : block.kind == Kind::device ? 2 : 3;
  pointer->device = block.gpu;
  pointer->device_address = const_cast<void*>(address);
  pointer->host_address = block.kind == Kind::device ? nullptr : const_cast<void*>(address);
  pointer->managed = block.kind == Kind::managed;
  return kSuccess;
}
int hipMemcpyAsync(void* to, const void* from, size_t bytes, int, void* stream) {
  const int code = ready();
  return code != kSuccess ? code : keep(copy(to, from, bytes, stream_of(stream)));
}
int hipMemcpy(void* to, const void* from, size_t bytes, int) {
  if (const int code = ready_and_free(); code != kSuccess) return code;
  const int code = copy(to, from, bytes, stream_of(nullptr));
  return keep(code != kSuccess ? code : synchronize(stream_of(nullptr)));
}
int hipMemsetAsync(void* to, int value, size_t bytes, void* stream) {
  const int code = ready();
  return code != kSuccess ? code : keep(fill(to, value, bytes, stream_of(stream)));
}
int hipIpcGetMemHandle(HipIpcHandle* handle, void* address) {
  MemoryHandle made;
  const int code = ready() != kSuccess ? ready() : make_handle(address, &made);
  if (code == kSuccess) std::memcpy(handle, &made, sizeof(made));
  return keep(code);
}
int hipIpcOpenMemHandle(void** address, HipIpcHandle handle, unsigned) {
  if (const int code = ready_and_free(); code != kSuccess) return code;
  MemoryHandle given;
  std::memcpy(&given, &handle, sizeof(given));
  return keep(attach(given, here(), address));
}
int hipIpcCloseMemHandle(void* address) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(detach(address));
}
int hipMemGetHandleForAddressRange(void* file, void* address, size_t bytes, int kind, unsigned long long) {
  if (const int code = start(); code != kSuccess) return keep(code);
  if (kind != weir::drivers::kDmabufHandle) return keep(kInvalidValue);
  return keep(dmabuf_of(address, bytes, static_cast<int*>(file)));
}
int hipMemGetAllocationGranularity(size_t* bytes, const weir::drivers::MappingProperties* properties, int) {
  return keep(mapping_unit(bytes, properties));
}
int hipMemCreate(void** memory, size_t bytes, const weir::drivers::MappingProperties* properties,
                 unsigned long long) {
  uint64_t handle = 0;
  const int code = make_memory(&handle, bytes, properties);
  return *memory = reinterpret_cast<void*>(handle), keep(code);
}
int hipMemRelease(void* memory) { return keep(drop_memory(reinterpret_cast<uint64_t>(memory))); }
int hipMemExportToShareableHandle(void* file, void* memory, int kind, unsigned long long) {
  return keep(memory_to_file(file, reinterpret_cast<uint64_t>(memory), kind));
}
int hipMemImportFromShareableHandle(void** memory, void* file, int kind) {
  uint64_t handle = 0;
  const int code = memory_from_file(&handle, file, kind);
  return *memory = reinterpret_cast<void*>(handle), keep(code);
}
int hipMemAddressReserve(void** address, size_t bytes, size_t, void*, unsigned long long) {
  return keep(reserve_addresses(address, bytes));
}
int hipMemAddressFree(void* address, size_t bytes) { return keep(free_addresses(address, bytes)); }
int hipMemMap(void* address, size_t bytes, size_t offset, void* memory, unsigned long long) {
  return keep(map_memory(address, bytes, offset, reinterpret_cast<uint64_t>(memory)));
}
int hipMemUnmap(void* address, size_t bytes) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(unmap_memory(address, bytes));
}
int hipMemSetAccess(void* address, size_t bytes, const weir::drivers::MappingAccess* access, size_t count) {
  return keep(allow_access(address, bytes, access, count));
}

int hipStreamCreateWithFlags(void** stream, unsigned flags) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(make_stream(here(), (flags & 1) == 0, stream));
}
int hipStreamCreate(void** stream) { return hipStreamCreateWithFlags(stream, 0); }
int hipStreamDestroy(void* stream) { return keep(destroy_stream(stream)); }
int hipStreamSynchronize(void* stream) {
  const int code = ready();
  return code != kSuccess ? code : keep(synchronize(stream_of(stream)));
}
int hipStreamQuery(void* stream) {
  const int code = ready();
  return code != kSuccess ? code : keep(query(stream_of(stream)));
}
int hipGetStreamDeviceId(void* stream) {
  const auto found = stream_of(stream);
  return found == nullptr ? -1 : found->gpu;
}
int hipStreamIsCapturing(void* stream, int* state) { return keep(capture_state(stream_of(stream), state)); }
int hipStreamBeginCapture(void* stream, int mode) {
  const int code = ready();
  return code != kSuccess ? code : keep(begin_capture(stream_of(stream), static_cast<Mode>(mode)));
}
int hipStreamEndCapture(void* stream, void** graph) {
  return keep(end_capture(stream_of(stream), reinterpret_cast<Graph**>(graph)));
}
int hipThreadExchangeStreamCaptureMode(int* mode) { return keep(exchange_mode(mode)); }
int hipStreamWaitEvent(void* stream, void* event, unsigned) {
  return keep(wait(static_cast<Event*>(event), stream_of(stream)));
}
int hipStreamWriteValue32(void* stream, void* address, uint32_t value, unsigned) {
  const int code = ready();
  return code != kSuccess ? code : keep(write_value(address, value, stream_of(stream), false));
}
int hipStreamWaitValue32(void* stream, void* address, uint32_t value, unsigned flags, uint32_t mask) {
  const int code = ready();
  if (mask != 0xffffffff) return keep(kNotSupported);
  return code != kSuccess ? code : keep(wait_value(address, value, flags, stream_of(stream), false));
}
int hipLaunchHostFunc(void* stream, void (*function)(void*), void* argument) {
  const int code = ready();
  return code != kSuccess ? code : keep(call_host(function, argument, stream_of(stream)));
}

int hipEventCreateWithFlags(void** event, unsigned flags) {
  const int code = ready();
  if ((flags & 4) != 0 && (flags & 2) == 0) return keep(kInvalidValue);
  return code != kSuccess ? code : keep(make_event((flags & 4) != 0, event));
}
int hipEventCreate(void** event) { return hipEventCreateWithFlags(event, 0); }
int hipEventDestroy(void* event) { return event == nullptr ? keep(kInvalidHandle) : destroy_event(event); }
int hipEventRecord(void* event, void* stream) {
  return keep(record(static_cast<Event*>(event), stream_of(stream)));
}
int hipEventQuery(void* event) { return keep(query(static_cast<Event*>(event))); }
int hipEventSynchronize(void* event) { return keep(synchronize(static_cast<Event*>(event))); }
int hipIpcGetEventHandle(HipIpcHandle* handle, void* event) {
  EventHandle made;
  const int code = make_handle(static_cast<Event*>(event), &made);
  if (code == kSuccess) std::memcpy(handle, &made, sizeof(made));
  return keep(code);
}
int hipIpcOpenEventHandle(void** event, HipIpcHandle handle) {
  EventHandle given;
  std::memcpy(&given, &handle, sizeof(given));
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(open_event(given, event));
}

int hipGraphInstantiate(void** run, void* graph, void**, char*, size_t) {
  return *run = instantiate(*static_cast<Graph*>(graph)), kSuccess;
}
int hipGraphInstantiateWithFlags(void** run, void* graph, unsigned long long) {
  return hipGraphInstantiate(run, graph, nullptr, nullptr, 0);
}
int hipGraphLaunch(void* run, void* stream) {
  return keep(launch(static_cast<GraphRun*>(run), stream_of(stream)));
}
int hipGraphExecDestroy(void* run) { return destroy(static_cast<GraphRun*>(run)), kSuccess; }
int hipGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kSuccess;
}

int hipModuleLoadData(void** module, const void* image) {
  const int code = ready_and_free();
  return code != kSuccess ? code : keep(load_module(image, reinterpret_cast<Module**>(module)));
}
int hipModuleUnload(void* module) { return keep(unload_module(static_cast<Module*>(module))); }
int hipModuleGetFunction(void** function, void* module, const char* name) {
  return keep(find_kernel(static_cast<Module*>(module), name, reinterpret_cast<Kernel**>(function)));
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, size_t shared) {
  if (threads <= 0) return keep(kInvalidValue);
  return *blocks = resident_blocks({static_cast<unsigned>(threads), shared}), kSuccess;
}
int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments,
                          void**) {
  const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
  const int code = ready();
  return code != kSuccess ? code
                          : keep(launch_kernel(static_cast<Kernel*>(function), grid, block, shared, arguments,
                                               stream_of(stream)));
}
}
