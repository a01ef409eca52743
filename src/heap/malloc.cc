// SPDX-License-Identifier: Apache-2.0
// libweir_heap.so: preloaded (weir run --shared-heap), it puts the large allocations of a program into shared
// memory, so that peers of the host read them where they are. It replaces malloc and its relatives; small
// allocations, and all where shared memory is refused, go to the C library.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/heap/shared_heap.h"

extern "C" {
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

using weir::heap::SharedHeap;

#define WEIR_EXPORT extern "C" __attribute__((visibility("default")))

SharedHeap* heap = nullptr;  // set while the process has one thread

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

/// As much as the machine's memory, or as files may have, or a quarter of the address space if that is
/// limited: peers' heaps need the rest.
size_t wanted_bytes() {
  const size_t memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  const auto limit_of = [](auto resource) {
    rlimit limit{};
    return getrlimit(resource, &limit) == 0 ? size_t{limit.rlim_cur} : SIZE_MAX;
  };
  return std::min({memory, limit_of(RLIMIT_FSIZE), limit_of(RLIMIT_AS) / 4});
}

/// Locks the newest heap last: a thread that has it waits for no other.
void before_fork(SharedHeap* of) {
  if (of->older() != nullptr) before_fork(of->older());
  of->before_fork();
}

void after_fork_in_parent() {
  for (SharedHeap* one = heap; one != nullptr; one = one->older()) one->after_fork_in_parent();
}

/// Without memory for a heap of its own, the child uses that of the C library.
void after_fork_in_child() {
  for (SharedHeap* one = heap; one != nullptr; one = one->older()) one->after_fork_in_child();
  const char* call = nullptr;
  if (SharedHeap* const own = SharedHeap::create(wanted_bytes(), call, heap); own != nullptr) heap = own;
}

__attribute__((constructor)) void begin() {
  const char* call = nullptr;
  heap = SharedHeap::create(wanted_bytes(), call);
  if (heap == nullptr) {
    std::fprintf(stderr, "weir: no shared heap, the program uses an ordinary one: %s failed: %s\n", call,
                 std::strerror(errno));
    return;
  }
  pthread_atfork([] { before_fork(heap); }, after_fork_in_parent, after_fork_in_child);
}

/// Null: it belongs to the C library's heap.
void* large(size_t bytes, size_t alignment, bool zeroes) {
  return bytes >= SharedHeap::kLeast && heap != nullptr ? heap->allocate(bytes, alignment, zeroes) : nullptr;
}

/// The heap that has the memory; null: the C library's.
SharedHeap* heap_of(const void* memory) {
  SharedHeap* one = heap;
  while (one != nullptr && !one->contains(memory)) one = one->older();
  return one;
}

void* aligned(size_t alignment, size_t bytes) {
  const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  void* const memory = is_power ? large(bytes, alignment, false) : nullptr;
  return memory != nullptr ? memory : __libc_memalign(alignment, bytes);
}

size_t usable(void* memory) {
  using Usable = size_t (*)(void*);
  static const auto of_libc = reinterpret_cast<Usable>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return of_libc(memory);
}

/// Moves an allocation of the C library into the heap; null: it stays there.
void* moved(void* memory, size_t bytes) {
  void* const to = large(bytes, 1, false);
  if (to == nullptr) return nullptr;
  std::memcpy(to, memory, std::min(bytes, usable(memory)));
  __libc_free(memory);
  return to;
}

}  // namespace

/// Where the heap is; false: there is none.
WEIR_EXPORT bool weir_shared_heap(void** begin, size_t* bytes) {
  *begin = heap != nullptr ? heap->shared() : nullptr;
  *bytes = heap != nullptr ? heap->bytes() : 0;
  return *begin != nullptr;
}

WEIR_EXPORT void* malloc(size_t bytes) {
  void* const memory = large(bytes, 1, false);
  return memory != nullptr ? memory : __libc_malloc(bytes);
}

WEIR_EXPORT void free(void* memory) {
  SharedHeap* const of = heap_of(memory);
  if (of == nullptr) return __libc_free(memory);
  const int error = errno;
  of->free(memory);
  errno = error;
}

WEIR_EXPORT void* calloc(size_t count, size_t bytes) {
  size_t all = 0;
  void* const memory = __builtin_mul_overflow(count, bytes, &all) ? nullptr : large(all, 1, true);
  return memory != nullptr ? memory : __libc_calloc(count, bytes);
}

WEIR_EXPORT void* realloc(void* memory, size_t bytes) {
  if (memory == nullptr) return malloc(bytes);
  SharedHeap* const of = heap_of(memory);
  if (of == nullptr) {
    void* const to = moved(memory, bytes);
    return to != nullptr ? to : __libc_realloc(memory, bytes);
  }
  const size_t had = of->size_of(memory);
  if (bytes > had / 2 && of->extend(memory, bytes)) return memory;
  void* const to = bytes > 0 ? malloc(bytes) : nullptr;
  if (bytes > 0 && to == nullptr) return nullptr;
  if (to != nullptr) std::memcpy(to, memory, std::min(bytes, had));
  of->free(memory);
  return to;
}

WEIR_EXPORT void* reallocarray(void* memory, size_t count, size_t bytes) {
  size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(memory, all);
}

WEIR_EXPORT void* memalign(size_t alignment, size_t bytes) { return aligned(alignment, bytes); }
WEIR_EXPORT void* aligned_alloc(size_t alignment, size_t bytes) { return aligned(alignment, bytes); }
WEIR_EXPORT void* valloc(size_t bytes) { return aligned(page_bytes(), bytes); }
WEIR_EXPORT void* pvalloc(size_t bytes) {
  return aligned(page_bytes(), (bytes + page_bytes() - 1) / page_bytes() * page_bytes());
}

WEIR_EXPORT int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  const int error = errno;
  void* const found = aligned(alignment, bytes);
  errno = error;
  if (found == nullptr) return ENOMEM;
  *memory = found;
  return 0;
}

WEIR_EXPORT size_t malloc_usable_size(void* memory) {
  SharedHeap* const of = heap_of(memory);
  return of != nullptr ? of->size_of(memory) : usable(memory);
}
