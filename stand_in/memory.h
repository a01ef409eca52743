// SPDX-License-Identifier: Apache-2.0
/// Memory of the stand-in's GPUs. Device memory has two mappings: the one whose address callers have, which
/// nobody may touch, and one of the driver's own.
///
/// As with real drivers, small allocations of a GPU lie side by side in pages of 2 MiB, at multiples of 512
/// bytes: one is seldom at the begin of a page. An IPC handle gives all of these pages to the other process,
/// and opening it returns the address of the allocation.
#pragma once

#include "stand_in/world.h"

namespace fake {

enum class Kind { pinned, managed, device };

struct Block {
  char* begin = nullptr;  ///< as callers name it
  char* view = nullptr;   ///< as the driver reaches it
  size_t bytes = 0;
  size_t span = 0;  ///< the addresses that are its own
  Kind kind = Kind::device;
  int gpu = 0;
  int opened = 0;       ///< so often by attach(): it is another process's
  uint64_t pages = 0;   ///< number of those where it lies; 0: they were mapped by somebody else
  bool placed = false;  ///< at addresses that were reserved before (mappings.h)
};

/// What a handle for another process says.
struct MemoryHandle {
  char magic[8];
  int64_t process;
  uint64_t pages;  ///< number in that process
  int32_t file;
  int32_t device;  ///< its number on the machine
  uint64_t pages_bytes;
  uint64_t offset;
  uint64_t bytes;
  char zeroes[8];
};
static_assert(sizeof(MemoryHandle) == 64);

int allocate(Kind kind, int gpu, size_t bytes, void** memory);
/// What is left of the GPU's memory.
size_t free_bytes(int gpu);
/// Waits for all that is queued on the GPU first, as real drivers do. `kind` pinned, or not.
int release(bool pinned, void* memory);
/// Host memory that the caller has mapped becomes pinned, and is as before again.
int pin(void* memory, int gpu, size_t bytes);
int unpin(void* memory);
/// The block around an address; false: none.
bool find_block(const void* address, Block* block);
/// Copies between any kinds of memory, at once. kIllegalAddress where a side runs over the end of its block.
int copy_bytes(void* to, const void* from, size_t bytes);
int fill_bytes(void* to, int value, size_t bytes);
/// The word as the driver reaches it; null where it is in no block.
std::atomic<uint32_t>* word_at(const void* address);

/// Of the allocation around an address.
int make_handle(const void* memory, MemoryHandle* handle);
/// An instance of MIG cannot map memory of another one.
int attach(const MemoryHandle& handle, int gpu, void** base);
int detach(void* base);

/// A descriptor of what is behind whole pages inside a block: from the position in the file on at which the
/// descriptor is.
int dmabuf_of(const void* memory, size_t bytes, int* file);

/// What is behind `file` as device memory at addresses that are reserved, and not any more. The file is the
/// block's.
int place(void* at, size_t bytes, int file, int gpu);
int displace(void* at, size_t bytes);

/// While one lives, threads of this process may touch device memory by the callers' addresses: kernels run.
class Opened {
 public:
  Opened();
  ~Opened();
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
};

}  // namespace fake
