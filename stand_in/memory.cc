// SPDX-License-Identifier: Apache-2.0

#include "stand_in/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "stand_in/device_list.h"
#include "stand_in/streams.h"

namespace fake {
namespace {

constexpr char kMemoryMagic[8] = {'f', 'a', 'k', 'e', 'g', 'p', 'u', '1'};
constexpr size_t kPage = 4096;
constexpr size_t kGranule = 512;
/// GPUs map memory in such pages. Allocations below half of one share them.
constexpr size_t kLargePage = size_t{2} << 20;

constexpr size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// What is mapped in one: an allocation, or several small ones.
struct Pages {
  char* begin = nullptr;
  char* view = nullptr;
  size_t bytes = 0;
  int file = -1;
  int gpu = 0;
  int blocks = 0;             ///< that lie there
  bool divided = false;       ///< among small allocations
  bool counts = false;        ///< as memory of the GPU
  int64_t process = 0;        ///< whose they are; 0: this one
  uint64_t number_there = 0;  ///< if they are another process's
};

struct Memory {
  std::mutex mutex;
  std::map<uintptr_t, Block> blocks;
  std::map<uint64_t, Pages> pages;  ///< by number
  size_t used[kMostGpus] = {};
  int open = 0;  ///< kernels that run
  uint64_t number = 0;

  static Memory& get() {
    static Memory* const memory = new Memory;
    return *memory;
  }

  // REQUIRES of these: the mutex.

  Block* around(const void* address) {
    auto after = blocks.upper_bound(reinterpret_cast<uintptr_t>(address));
    if (after == blocks.begin()) return nullptr;
    Block& block = std::prev(after)->second;
    return static_cast<const char*>(address) < block.begin + block.span ? &block : nullptr;
  }
  void add(Block block, uint64_t pages_number, size_t offset) {
    Pages& there = pages.at(pages_number);
    ++there.blocks;
    block.pages = pages_number;
    block.begin = there.begin + offset;
    block.view = there.view + offset;
    blocks.emplace(reinterpret_cast<uintptr_t>(block.begin), block);
  }
  void remove(const Block& block);
};

/// Fills in the addresses. `apart`: callers' addresses are others than the driver's.
bool map(Pages& pages, bool apart, bool open) {
  void* const view = mmap(nullptr, pages.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pages.file, 0);
  if (view == MAP_FAILED) return false;
  pages.view = pages.begin = static_cast<char*>(view);
  if (!apart) return true;
  void* const begin =
      mmap(nullptr, pages.bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_SHARED, pages.file, 0);
  if (begin == MAP_FAILED) return munmap(view, pages.bytes), false;
  pages.begin = static_cast<char*>(begin);
  return true;
}

void Memory::remove(const Block& block) {
  blocks.erase(reinterpret_cast<uintptr_t>(block.begin));
  const auto found = pages.find(block.pages);
  if (found == pages.end() || --found->second.blocks > 0) return;
  const Pages& unused = found->second;
  munmap(unused.view, unused.bytes);
  if (unused.begin != unused.view && !block.placed) munmap(unused.begin, unused.bytes);
  close(unused.file);
  if (unused.counts) used[unused.gpu] -= unused.bytes;
  pages.erase(found);
}

/// New pages of this process; 0: there is no memory. REQUIRES: the mutex.
uint64_t make_pages(Memory& memory, Kind kind, int gpu, size_t bytes) {
  Pages pages;
  pages.bytes = bytes;
  pages.gpu = gpu;
  pages.counts = kind == Kind::device;
  if (pages.counts && memory.used[gpu] + bytes > gpu_bytes()) return 0;
  pages.file = memfd_create("fake-gpu", MFD_CLOEXEC);
  if (pages.file < 0) return 0;
  if (ftruncate(pages.file, static_cast<off_t>(bytes)) != 0 ||
      !map(pages, kind == Kind::device, memory.open > 0)) {
    close(pages.file);
    return 0;
  }
  if (pages.counts) memory.used[gpu] += bytes;
  memory.pages.emplace(++memory.number, pages);
  return memory.number;
}

/// Where a small allocation has room in pages. Their begin is left free, as if something of the driver lay
/// there, so that no allocation is at the begin of a page by chance. REQUIRES: the mutex.
std::optional<size_t> gap_in(Memory& memory, const Pages& pages, size_t span) {
  size_t at = kGranule;
  auto next = memory.blocks.lower_bound(reinterpret_cast<uintptr_t>(pages.begin));
  for (; next != memory.blocks.end() && next->second.begin < pages.begin + pages.bytes; ++next) {
    const auto begin = static_cast<size_t>(next->second.begin - pages.begin);
    if (at + span <= begin) return at;
    at = begin + next->second.span;
  }
  return at + span <= pages.bytes ? std::optional(at) : std::nullopt;
}

/// REQUIRES: the mutex.
int allocate_small(Memory& memory, const Block& block, void** address) {
  const auto give = [&](uint64_t number, size_t offset) {
    memory.add(block, number, offset);
    *address = memory.pages.at(number).begin + offset;
    return kSuccess;
  };
  for (const auto& [number, pages] : memory.pages) {
    if (!pages.divided || pages.gpu != block.gpu) continue;
    if (const auto gap = gap_in(memory, pages, block.span); gap) return give(number, *gap);
  }
  const uint64_t made = make_pages(memory, block.kind, block.gpu, kLargePage);
  if (made == 0) return kOutOfMemory;
  memory.pages.at(made).divided = true;
  return give(made, kGranule);
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

/// A file of a process of this host, opened again.
int open_file(int64_t process, int file) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%ld/fd/%d", static_cast<long>(process), file);
  return open(path, O_RDWR | O_CLOEXEC);
}

/// The pages of another process in which a handle's memory lies: mapped once for all of its allocations
/// there; 0: they cannot be mapped. REQUIRES: the mutex.
uint64_t attached_pages(Memory& memory, const MemoryHandle& handle, int gpu) {
  for (const auto& [number, pages] : memory.pages)
    if (pages.process == handle.process && pages.number_there == handle.pages) return number;
  Pages pages;
  pages.bytes = handle.pages_bytes;
  pages.gpu = gpu;
  pages.process = handle.process;
  pages.number_there = handle.pages;
  pages.file = open_file(handle.process, handle.file);
  if (pages.file < 0) return 0;
  if (!map(pages, true, memory.open > 0)) return close(pages.file), 0;
  memory.pages.emplace(++memory.number, pages);
  return memory.number;
}

void protect_all(int protection) {
  for (auto& [number, pages] : Memory::get().pages)
    if (pages.begin != pages.view) mprotect(pages.begin, pages.bytes, protection);
}

}  // namespace

int allocate(Kind kind, int gpu, size_t bytes, void** memory) {
  if (bytes == 0 || memory == nullptr) return kInvalidValue;
  if (fault_strikes("alloc")) return kOutOfMemory;
  Memory& all = Memory::get();
  const std::lock_guard lock(all.mutex);
  if (kind == Kind::device && bytes > gpu_bytes()) return kOutOfMemory;
  Block block;
  block.kind = kind;
  block.gpu = gpu;
  block.bytes = bytes;
  block.span = rounded(bytes, kind == Kind::device ? kGranule : kPage);
  if (kind == Kind::device && bytes < kLargePage / 2) return allocate_small(all, block, memory);
  const size_t unit = kind == Kind::device ? kLargePage : kPage;
  const uint64_t pages = make_pages(all, kind, gpu, rounded(bytes, unit));
  if (pages == 0) return kOutOfMemory;
  all.add(block, pages, 0);
  *memory = all.pages.at(pages).begin;
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
  if (!find_block(address, &block) || block.begin != address || block.opened > 0 || block.pages == 0 ||
      block.placed || pinned != (block.kind == Kind::pinned))
    return kInvalidValue;
  synchronize_gpu(block.gpu);
  const std::lock_guard lock(memory.mutex);
  if (memory.around(address) == nullptr) return kInvalidValue;  // freed meanwhile
  memory.remove(block);
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
  block.span = rounded(bytes, kPage);
  block.kind = Kind::pinned;
  block.gpu = gpu;
  memory.blocks.emplace(reinterpret_cast<uintptr_t>(address), block);
  return kSuccess;
}

int unpin(void* address) {
  Block block;
  if (!find_block(address, &block) || block.begin != address || block.pages != 0) return kNotPinned;
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

int make_handle(const void* memory, MemoryHandle* handle) {
  Memory& all = Memory::get();
  const std::lock_guard lock(all.mutex);
  const Block* const block = all.around(memory);
  if (block == nullptr || block->kind != Kind::device || block->opened > 0 || block->placed)
    return kInvalidValue;  // as drivers refuse what they did not allocate in one
  const Pages& pages = all.pages.at(block->pages);
  *handle = MemoryHandle{};
  std::memcpy(handle->magic, kMemoryMagic, sizeof(kMemoryMagic));
  handle->process = getpid();
  handle->pages = block->pages;
  handle->file = pages.file;
  handle->device = machine_device(block->gpu);
  handle->pages_bytes = pages.bytes;
  handle->offset = static_cast<uint64_t>(block->begin - pages.begin);
  handle->bytes = block->bytes;
  return kSuccess;
}

int attach(const MemoryHandle& handle, int gpu, void** base) {
  if (std::memcmp(handle.magic, kMemoryMagic, sizeof(kMemoryMagic)) != 0) return kInvalidValue;
  if (fault_is_set("ipc")) return kMapFailed;
  if (handle.process == getpid()) return kInvalidContext;
  if (instances() > 1 && handle.device != machine_device(gpu)) return kMapFailed;
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  const uint64_t number = attached_pages(memory, handle, gpu);
  if (number == 0) return kMapFailed;
  char* const begin = memory.pages.at(number).begin + handle.offset;
  *base = begin;
  if (const auto known = memory.blocks.find(reinterpret_cast<uintptr_t>(begin));
      known != memory.blocks.end()) {
    ++known->second.opened;
    return kSuccess;
  }
  Block block;
  block.gpu = gpu;
  block.bytes = handle.bytes;
  block.span = rounded(handle.bytes, kGranule);
  block.opened = 1;
  memory.add(block, number, handle.offset);
  return kSuccess;
}

int detach(void* base) {
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  const auto found = memory.blocks.find(reinterpret_cast<uintptr_t>(base));
  if (found == memory.blocks.end() || found->second.opened == 0) return kInvalidValue;
  if (--found->second.opened == 0) memory.remove(Block(found->second));
  return kSuccess;
}

int dmabuf_of(const void* memory, size_t bytes, int* file) {
  if (fault_is_set("dmabuf")) return kNotSupported;
  Memory& all = Memory::get();
  const std::lock_guard lock(all.mutex);
  const Block* const block = all.around(memory);
  const auto address = reinterpret_cast<uintptr_t>(memory);
  if (block == nullptr || block->kind != Kind::device || bytes == 0 || address % kPage != 0 ||
      bytes % kPage != 0 || static_cast<const char*>(memory) + bytes > block->begin + block->bytes)
    return kInvalidValue;
  const Pages& pages = all.pages.at(block->pages);
  *file = open_file(getpid(), pages.file);  // with a position of its own
  if (*file < 0) return kOutOfMemory;
  lseek(*file, static_cast<const char*>(memory) - pages.begin, SEEK_SET);
  return kSuccess;
}

int place(void* at, size_t bytes, int file, int gpu) {
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  Pages pages;
  pages.bytes = bytes;
  pages.file = file;
  pages.gpu = gpu;
  if (!map(pages, false, true)) return kMapFailed;
  const int open = memory.open > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  if (mmap(at, bytes, open, MAP_SHARED | MAP_FIXED, file, 0) != at)
    return munmap(pages.view, bytes), kMapFailed;
  pages.begin = static_cast<char*>(at);
  memory.pages.emplace(++memory.number, pages);
  Block block;
  block.gpu = gpu;
  block.bytes = block.span = bytes;
  block.placed = true;
  memory.add(block, memory.number, 0);
  return kSuccess;
}

int displace(void* at, size_t bytes) {
  Block block;
  if (!find_block(at, &block) || block.begin != at || !block.placed || block.bytes != bytes)
    return kInvalidValue;
  synchronize_gpu(block.gpu);
  Memory& memory = Memory::get();
  const std::lock_guard lock(memory.mutex);
  memory.remove(block);
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
