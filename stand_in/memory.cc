// SPDX-License-Identifier: Apache-2.0

#include "stand_in/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "stand_in/streams.h"

namespace fake {
namespace {

constexpr char kMemoryMagic[8] = {'f', 'a', 'k', 'e', 'g', 'p', 'u', '1'};
constexpr size_t kPage = 4096;

struct Memory {
  std::mutex mutex;
  std::map<uintptr_t, Block> blocks;
  size_t used[kMostGpus] = {};
  int open = 0;  ///< kernels that run
  uint64_t number = 0;

  static Memory& get() {
    static Memory* const memory = new Memory;
    return *memory;
  }
  /// REQUIRES: the mutex.
  Block* around(const void* address) {
    auto after = blocks.upper_bound(reinterpret_cast<uintptr_t>(address));
    if (after == blocks.begin()) return nullptr;
    Block& block = std::prev(after)->second;
    return static_cast<const char*>(address) < block.begin + block.mapped ? &block : nullptr;
  }
};

bool map(Block& block, int open) {
  void* const view = mmap(nullptr, block.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, block.file, 0);
  if (view == MAP_FAILED) return false;
  block.view = block.begin = static_cast<char*>(view);
  if (block.kind != Kind::device) return true;
  void* const begin =
      mmap(nullptr, block.mapped, open > 0 ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_SHARED, block.file, 0);
  if (begin == MAP_FAILED) return munmap(view, block.mapped), false;
  block.begin = static_cast<char*>(begin);
  return true;
}

void unmap(const Block& block) {
  munmap(block.view, block.mapped);
  if (block.begin != block.view) munmap(block.begin, block.mapped);
  close(block.file);
}

/// The driver's address of some bytes; a host address stays. Null: over the end of a block.
char* reached(const void* address, size_t bytes) {
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  const Block* const block = memory.around(address);
  char* const pointer = static_cast<char*>(const_cast<void*>(address));
  if (block == nullptr) return pointer;
  const size_t offset = static_cast<size_t>(pointer - block->begin);
  return offset + bytes <= block->bytes ? block->view + offset : nullptr;
}

void protect_all(int protection) {
  for (auto& [begin, block] : Memory::get().blocks)
    if (block.kind == Kind::device) mprotect(block.begin, block.mapped, protection);
}

}  // namespace

int allocate(Kind kind, int gpu, size_t bytes, void** memory) {
  if (bytes == 0 || memory == nullptr) return kInvalidValue;
  if (fault_strikes("alloc")) return kOutOfMemory;
  Memory& all = Memory::get();
  const std::lock_guard lock(all.mutex);
  Block block;
  block.kind = kind;
  block.gpu = gpu;
  block.bytes = bytes;
  block.mapped = (bytes + kPage - 1) / kPage * kPage;
  if (kind == Kind::device && (bytes > gpu_bytes() || all.used[gpu] + block.mapped > gpu_bytes()))
    return kOutOfMemory;
  block.file = memfd_create("fake-gpu", MFD_CLOEXEC);
  if (block.file < 0) return kOutOfMemory;
  if (ftruncate(block.file, static_cast<off_t>(block.mapped)) != 0 || !map(block, all.open)) {
    close(block.file);
    return kOutOfMemory;
  }
  block.number = ++all.number;
  if (kind == Kind::device) all.used[gpu] += block.mapped;
  all.blocks.emplace(reinterpret_cast<uintptr_t>(block.begin), block);
  *memory = block.begin;
  return kSuccess;
}

size_t free_bytes(int gpu) {
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  return gpu_bytes() - memory.used[gpu];
}

int release(bool pinned, void* address) {
  if (address == nullptr) return kSuccess;
  Memory& memory = Memory::get();
  Block block;
  if (!find_block(address, &block) || block.begin != address || block.attached || block.foreign ||
      block.placed || pinned != (block.kind == Kind::pinned))
    return kInvalidValue;
  synchronize_gpu(block.gpu);
  const std::lock_guard lock(memory.mutex);
  if (memory.blocks.erase(reinterpret_cast<uintptr_t>(address)) == 0) return kInvalidValue;
  if (block.kind == Kind::device) memory.used[block.gpu] -= block.mapped;
  unmap(block);
  return kSuccess;
}

int pin(void* address, int gpu, size_t bytes) {
  if (bytes == 0 || reinterpret_cast<uintptr_t>(address) % kPage != 0) return kInvalidValue;
  if (fault_strikes("alloc")) return kOutOfMemory;
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  if (memory.around(address) != nullptr) return kAlreadyPinned;
  Block block;
  block.begin = block.view = static_cast<char*>(address);
  block.bytes = bytes;
  block.mapped = (bytes + kPage - 1) / kPage * kPage;
  block.kind = Kind::pinned;
  block.gpu = gpu;
  block.foreign = true;
  memory.blocks.emplace(reinterpret_cast<uintptr_t>(address), block);
  return kSuccess;
}

int unpin(void* address) {
  Block block;
  if (!find_block(address, &block) || block.begin != address || !block.foreign) return kNotPinned;
  synchronize_gpu(block.gpu);
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  return memory.blocks.erase(reinterpret_cast<uintptr_t>(address)) != 0 ? kSuccess : kNotPinned;
}

bool find_block(const void* address, Block* block) {
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  const Block* const found = memory.around(address);
  if (found != nullptr) *block = *found;
  return found != nullptr;
}

int copy_bytes(void* to, const void* from, size_t bytes) {
  char* const target = reached(to, bytes);
  const char* const source = reached(from, bytes);
  if (target == nullptr || source == nullptr) return kIllegalAddress;
  std::memmove(target, source, bytes);
  return kSuccess;
}

int fill_bytes(void* to, int value, size_t bytes) {
  char* const target = reached(to, bytes);
  if (target == nullptr) return kIllegalAddress;
  std::memset(target, value, bytes);
  return kSuccess;
}

std::atomic<uint32_t>* word_at(const void* address) {
  Block block;
  if (reinterpret_cast<uintptr_t>(address) % sizeof(uint32_t) != 0 || !find_block(address, &block))
    return nullptr;
  return reinterpret_cast<std::atomic<uint32_t>*>(reached(address, sizeof(uint32_t)));
}

int make_handle(const void* base, MemoryHandle* handle) {
  Block block;
  if (!find_block(base, &block) || block.kind != Kind::device || block.attached || block.placed)
    return kInvalidValue;  // as drivers refuse what they did not allocate in one
  *handle = MemoryHandle{};
  std::memcpy(handle->magic, kMemoryMagic, sizeof(kMemoryMagic));
  handle->process = getpid();
  handle->number = static_cast<int64_t>(block.number);
  handle->file = block.file;
  handle->gpu = block.gpu;
  handle->bytes = block.bytes;
  return kSuccess;
}

int attach(const MemoryHandle& handle, int gpu, void** base) {
  if (std::memcmp(handle.magic, kMemoryMagic, sizeof(kMemoryMagic)) != 0) return kInvalidValue;
  if (fault_is_set("ipc")) return kMapFailed;
  if (handle.process == getpid()) return kInvalidContext;
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%ld/fd/%d", static_cast<long>(handle.process), handle.file);
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  Block block;
  block.gpu = gpu;
  block.bytes = handle.bytes;
  block.mapped = (handle.bytes + kPage - 1) / kPage * kPage;
  block.attached = true;
  block.file = open(path, O_RDWR | O_CLOEXEC);
  if (block.file < 0) return kMapFailed;
  if (!map(block, memory.open)) return close(block.file), kMapFailed;
  memory.blocks.emplace(reinterpret_cast<uintptr_t>(block.begin), block);
  *base = block.begin;
  return kSuccess;
}

int detach(void* base) {
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  const auto found = memory.blocks.find(reinterpret_cast<uintptr_t>(base));
  if (found == memory.blocks.end() || !found->second.attached) return kInvalidValue;
  unmap(found->second);
  memory.blocks.erase(found);
  return kSuccess;
}

int dmabuf_of(const void* base, size_t bytes, int* file) {
  Block block;
  if (fault_is_set("dmabuf")) return kNotSupported;
  if (!find_block(base, &block) || block.kind != Kind::device || block.begin != base || block.mapped != bytes)
    return kInvalidValue;
  *file = fcntl(block.file, F_DUPFD_CLOEXEC, 0);
  return *file < 0 ? kOutOfMemory : kSuccess;
}

int place(void* at, size_t bytes, int file, int gpu) {
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  Block block;
  block.gpu = gpu;
  block.bytes = block.mapped = bytes;
  block.placed = true;
  block.file = file;
  void* const view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (view == MAP_FAILED) return kMapFailed;
  block.view = static_cast<char*>(view);
  const int open = memory.open > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  block.begin = static_cast<char*>(mmap(at, bytes, open, MAP_SHARED | MAP_FIXED, file, 0));
  memory.blocks.emplace(reinterpret_cast<uintptr_t>(at), block);
  return block.begin == at ? kSuccess : kMapFailed;
}

int displace(void* at, size_t bytes) {
  Block block;
  if (!find_block(at, &block) || block.begin != at || !block.placed || block.bytes != bytes)
    return kInvalidValue;
  synchronize_gpu(block.gpu);
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  memory.blocks.erase(reinterpret_cast<uintptr_t>(at));
  munmap(block.view, bytes);
  close(block.file);
  const void* const left =
      mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return left == at ? kSuccess : kMapFailed;
}

Opened::Opened() {
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  if (memory.open++ == 0) protect_all(PROT_READ | PROT_WRITE);
}
Opened::~Opened() {
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  if (--memory.open == 0) protect_all(PROT_NONE);
}

}  // namespace fake
