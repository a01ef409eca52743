// SPDX-License-Identifier: Apache-2.0
/// Memory of the stand-in's GPUs. Device memory has two mappings: the one whose address callers have, which
/// nobody may touch, and one of the driver's own.
#pragma once

#include "stand_in/world.h"

namespace fake {

enum class Kind { pinned, managed, device };

struct Block {
  char* begin = nullptr;  ///< as callers name it
  char* view = nullptr;   ///< as the driver reaches it
  size_t bytes = 0;
  size_t mapped = 0;  ///< whole pages
  Kind kind = Kind::device;
  int gpu = 0;
  int file = -1;
  bool attached = false;  ///< it is another process's
  bool foreign = false;   ///< it was mapped by somebody else
  bool placed = false;    ///< at addresses that were reserved before (mappings.h)
  uint64_t number = 0;
};

/// What a handle for another process says.
struct MemoryHandle {
  char magic[8];
  int64_t process;
  int64_t number;
  int32_t file;
  int32_t gpu;
  uint64_t bytes;
  char zeroes[24];
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

int make_handle(const void* base, MemoryHandle* handle);
int attach(const MemoryHandle& handle, int gpu, void** base);
int detach(void* base);

/// A descriptor of what is behind all pages of a block.
int dmabuf_of(const void* base, size_t bytes, int* file);

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
