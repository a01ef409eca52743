// SPDX-License-Identifier: Apache-2.0
/// An allocator for containers: memory of the C library's own heap, whoever has replaced malloc.
/// Tests: tests/heap/page_ranges_test.cc
#pragma once

#include <cstddef>
#include <new>

extern "C" {
void* __libc_malloc(size_t bytes);
void __libc_free(void* memory);
}

namespace weir::heap {

template <typename T>
struct LibcMemory {
  using value_type = T;

  LibcMemory() = default;
  template <typename U>
  LibcMemory(const LibcMemory<U>&) {}  // NOLINT(google-explicit-constructor): containers convert it

  T* allocate(size_t count) {
    void* const memory = __libc_malloc(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { __libc_free(memory); }
  bool operator==(const LibcMemory&) const { return true; }
};

}  // namespace weir::heap
