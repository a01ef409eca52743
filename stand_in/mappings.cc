// SPDX-License-Identifier: Apache-2.0

#include "stand_in/mappings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "stand_in/device_list.h"
#include "stand_in/memory.h"
#include "stand_in/world.h"

namespace fake {
namespace {

constexpr size_t kUnit = size_t{2} << 20;

struct Mappings {
  struct Backing {
    int file = -1;
    size_t bytes = 0;
    int gpu = 0;
  };
  std::mutex mutex;
  std::map<uint64_t, Backing> memory;
  std::map<void*, size_t> addresses;      ///< reserved
  std::map<void*, Backing> inaccessible;  ///< mapped, but for nobody yet
  uint64_t number = 0;

  static Mappings& get() {
    static Mappings* const all = new Mappings;
    return *all;
  }
};

bool sensible(const weir::drivers::MappingProperties* properties) {
  return properties != nullptr &&
         (properties->kind == weir::drivers::kPinnedMapping ||
          properties->kind == weir::drivers::kUncachedMapping) &&
         properties->handle == weir::drivers::kFileHandle && properties->place.kind == 1 &&
         properties->place.gpu >= 0 && properties->place.gpu < gpu_count();
}

constexpr char kName[] = "fake-gpu-memory-";  ///< of files; the device follows

/// The device whose memory is behind a file; -1: it is not known.
int device_behind(int file) {
  char path[64], name[128] = {};
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
  if (readlink(path, name, sizeof(name) - 1) < 0) return -1;
  const char* const at = std::strstr(name, kName);
  return at != nullptr ? std::atoi(at + sizeof(kName) - 1) : -1;
}

}  // namespace

int mapping_unit(size_t* bytes, const weir::drivers::MappingProperties* properties) {
  if (!sensible(properties)) return kInvalidValue;
  return *bytes = kUnit, kSuccess;
}

int make_memory(uint64_t* handle, size_t bytes, const weir::drivers::MappingProperties* properties) {
  if (!sensible(properties) || bytes == 0 || bytes % kUnit != 0) return kInvalidValue;
  if (fault_is_set("vmm")) return kNotSupported;
  if (fault_is_set("uncached") && properties->kind == weir::drivers::kUncachedMapping) return kInvalidValue;
  if (fault_strikes("alloc") || bytes > free_bytes(properties->place.gpu)) return kOutOfMemory;
  const std::string name = kName + std::to_string(machine_device(properties->place.gpu));
  const int file = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (file < 0) return kOutOfMemory;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return close(file), kOutOfMemory;
  Mappings& all = Mappings::get();
  const std::lock_guard lock(all.mutex);
  all.memory[*handle = ++all.number] = {file, bytes, properties->place.gpu};
  return kSuccess;
}

int drop_memory(uint64_t handle) {
  Mappings& all = Mappings::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.memory.find(handle);
  if (found == all.memory.end()) return kInvalidValue;
  close(found->second.file);
  all.memory.erase(found);
  return kSuccess;
}

int memory_to_file(void* file, uint64_t handle, int kind) {
  Mappings& all = Mappings::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.memory.find(handle);
  if (kind != weir::drivers::kFileHandle || found == all.memory.end()) return kInvalidValue;
  const int copy = fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
  return *static_cast<int*>(file) = copy,
         copy < 0 ? static_cast<int>(kOutOfMemory) : static_cast<int>(kSuccess);
}

int memory_from_file(uint64_t* handle, void* file, int kind) {
  if (kind != weir::drivers::kFileHandle) return kInvalidValue;
  const int copy = fcntl(static_cast<int>(reinterpret_cast<uintptr_t>(file)), F_DUPFD_CLOEXEC, 0);
  struct stat about {};
  if (copy < 0 || fstat(copy, &about) != 0) return kInvalidValue;
  if (instances() > 1 && device_behind(copy) != machine_device(0))  // it sees no other device
    return close(copy), kNotSupported;
  Mappings& all = Mappings::get();
  const std::lock_guard lock(all.mutex);
  all.memory[*handle = ++all.number] = {copy, static_cast<size_t>(about.st_size), 0};
  return kSuccess;
}

int reserve_addresses(void** at, size_t bytes) {
  if (bytes == 0 || bytes % kUnit != 0) return kInvalidValue;
  *at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (*at == MAP_FAILED) return kOutOfMemory;
  Mappings& all = Mappings::get();
  const std::lock_guard lock(all.mutex);
  all.addresses[*at] = bytes;
  return kSuccess;
}

int free_addresses(void* at, size_t bytes) {
  Mappings& all = Mappings::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.addresses.find(at);
  Block block;
  if (found == all.addresses.end() || found->second != bytes || find_block(at, &block)) return kInvalidValue;
  all.addresses.erase(found);
  return munmap(at, bytes) == 0 ? kSuccess : kInvalidValue;
}

int map_memory(void* at, size_t bytes, size_t offset, uint64_t handle) {
  Mappings& all = Mappings::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.memory.find(handle);
  const auto reserved = all.addresses.find(at);
  if (found == all.memory.end() || reserved == all.addresses.end() || reserved->second != bytes ||
      offset != 0 || found->second.bytes != bytes || all.inaccessible.count(at) != 0)
    return kInvalidValue;
  Mappings::Backing backing = found->second;
  backing.file = fcntl(backing.file, F_DUPFD_CLOEXEC, 0);
  if (backing.file < 0) return kOutOfMemory;
  all.inaccessible[at] = backing;
  return kSuccess;
}

int unmap_memory(void* at, size_t bytes) {
  Mappings& all = Mappings::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.inaccessible.find(at);
  if (found == all.inaccessible.end()) return displace(at, bytes);
  close(found->second.file);
  all.inaccessible.erase(found);
  return kSuccess;
}

int allow_access(void* at, size_t bytes, const weir::drivers::MappingAccess* access, size_t count) {
  Mappings& all = Mappings::get();
  const std::lock_guard lock(all.mutex);
  const auto found = all.inaccessible.find(at);
  if (count != 1 || access->place.kind != 1 || access->access != 3 || found == all.inaccessible.end() ||
      found->second.bytes != bytes)
    return kInvalidValue;
  const int file = found->second.file;
  all.inaccessible.erase(found);
  return place(at, bytes, file, access->place.gpu);
}

}  // namespace fake
