// SPDX-License-Identifier: Apache-2.0

#include "stand_in/world.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "stand_in/device_list.h"

namespace fake {
namespace {

struct Named {
  int code;
  const char* name;
  const char* text;
};
constexpr Named kErrors[] = {
    {kSuccess, "SUCCESS", "no error"},
    {kInvalidValue, "INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "NO_DEVICE", "no GPU is detected"},
    {kInvalidDevice, "INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "INVALID_CONTEXT", "invalid device context"},
    {kMapFailed, "MAP_FAILED", "mapping of buffer object failed"},
    {kPeerUnsupported, "PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {kInvalidHandle, "INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "NOT_FOUND", "named symbol not found"},
    {kNotReady, "NOT_READY", "device not ready"},
    {kIllegalAddress, "ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kOutOfResources, "LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kPeerAlready, "PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {kAlreadyPinned, "HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {kNotPinned, "HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {kNotSupported, "NOT_SUPPORTED", "operation not supported"},
    {kCaptureUnsupported, "STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {kCaptureMerge, "STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {kCaptureUnmatched, "STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {kCaptureUnjoined, "STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {kCaptureIsolation, "STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {kCaptureImplicit, "STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {kCapturedEvent, "CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {kCaptureWrongThread, "STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {kUnknown, "UNKNOWN", "unknown error"},
};

const Named* named(int code) {
  for (const Named& error : kErrors)
    if (error.code == code) return &error;
  return nullptr;
}

thread_local int current = -1;

/// "word=7" in the list: 7; "word": 0; else -1.
long fault_number(const char* word) {
  const char* at = std::getenv("WEIR_FAKE_GPU_FAULTS");
  const size_t length = std::strlen(word);
  for (; at != nullptr && *at != '\0'; at = std::strchr(at, ',')) {
    at += *at == ',';
    if (std::strncmp(at, word, length) != 0) continue;
    if (at[length] == '=') return std::strtol(at + length + 1, nullptr, 10);
    if (at[length] == ',' || at[length] == '\0') return 0;
  }
  return -1;
}

std::vector<int> visible() {
  const char* const text = std::getenv("WEIR_FAKE_GPUS");
  return visible_devices(std::clamp(text != nullptr ? std::atoi(text) : 2, 0, kMostGpus / instances()));
}

}  // namespace

const char* error_name(int code) {
  const Named* const error = named(code);
  return error != nullptr ? error->name : nullptr;
}
const char* error_text(int code) {
  const Named* const error = named(code);
  return error != nullptr ? error->text : nullptr;
}

World& World::get() {
  static World* const world = new World;
  return *world;
}

int gpu_count() { return static_cast<int>(visible().size()); }
int machine_device(int gpu) { return visible()[static_cast<size_t>(gpu)]; }
void write_address(int gpu, char* text, int bytes) {
  const int number = machine_device(gpu) / instances();
  std::snprintf(text, static_cast<size_t>(bytes), "%04x:%02x:00.0", number / 14, 0x1b + 0x10 * (number % 14));
}
size_t gpu_bytes() {
  const char* const text = std::getenv("WEIR_FAKE_GPU_BYTES");
  const size_t whole = text != nullptr ? std::strtoull(text, nullptr, 10) : size_t{4} << 30;
  return whole / static_cast<size_t>(instances());
}

bool fault_is_set(const char* word) { return fault_number(word) >= 0; }
bool fault_strikes(const char* word) {
  static std::mutex mutex;
  static std::map<std::string, std::pair<std::string, long>> counts;  // by word: the list, and how many since
  const long at = fault_number(word);
  if (at < 0) return false;
  const std::lock_guard lock(mutex);
  auto& [list, count] = counts[word];
  if (const char* const now = std::getenv("WEIR_FAKE_GPU_FAULTS"); list != now) {
    list = now;
    count = 0;
  }
  return ++count == at;
}

int current_gpu() { return current; }
void set_current_gpu(int gpu) { current = gpu; }

int usable(int gpu) {
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  if (world.process != getpid()) return kNotInitialized;  // a child of fork() has no driver
  if (gpu < 0 || gpu >= gpu_count()) return kInvalidDevice;
  return world.sticky[gpu];
}

}  // namespace fake
