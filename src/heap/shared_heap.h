// SPDX-License-Identifier: Apache-2.0
/// A heap for large allocations in one file in memory (memfd), which processes of the same host can map.
///
/// The file is as large as the machine's memory, and sparse: a page uses memory after it is first touched.
/// Freed pages are kept for later allocations, up to a part of the heap; others are given back at once.
///
/// fork(): the child gets a private copy of all allocations, as it would of other memory, while the parent
/// waits; the child allocates in another heap. A process that is made without handlers of pthread_atfork
/// (clone() by itself) does not have the heap at all, so that it cannot change the parent's memory.
///
/// Thread-safe. Uses the C library's heap for its tables, never malloc.
/// Tests: tests/heap/shared_heap_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "src/heap/page_ranges.h"

namespace weir::heap {

class SharedHeap {
 public:
  /// Smaller allocations do not belong here: they would waste pages, and messages of their size are copied.
  static constexpr size_t kLeast = 64 << 10;

  /// A heap of at most `bytes`, whole pages. Null if the system refuses: `call` is what failed, and errno
  /// why. `older`: that of the process before it was forked, or null.
  static SharedHeap* create(size_t bytes, const char*& call, SharedHeap* older = nullptr);
  SharedHeap(const SharedHeap&) = delete;
  SharedHeap& operator=(const SharedHeap&) = delete;

  /// Null if there is no room, or in a forked child. `alignment`: a power of two.
  void* allocate(size_t bytes, size_t alignment, bool zeroes);
  /// Ends the process if `data` is no allocation.
  void free(void* data);
  size_t size_of(void* data);
  /// Makes an allocation larger where it is. False if something else follows it.
  bool extend(void* data, size_t bytes);
  /// Whether an address is in the heap. Any thread, without a lock.
  bool contains(const void* data) const { return reinterpret_cast<uintptr_t>(data) - begin_ < bytes_; }

  /// Where peers may find it; null in a forked child, which has a copy.
  void* shared() const { return is_copy_ ? nullptr : reinterpret_cast<void*>(begin_); }
  size_t bytes() const { return bytes_; }
  SharedHeap* older() const { return older_; }

  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  SharedHeap(int file, uintptr_t begin, size_t bytes, SharedHeap* older);
  uintptr_t take(size_t bytes, size_t alignment, bool zeroes);
  void give_back(uintptr_t begin, size_t bytes);
  void copy_allocations();

  using Allocations =
      std::map<uintptr_t, size_t, std::less<>, LibcMemory<std::pair<const uintptr_t, size_t>>>;
  Allocations::iterator find(void* data);

  const int file_;
  const uintptr_t begin_;
  const size_t bytes_;
  SharedHeap* const older_;
  std::mutex mutex_;
  Allocations allocations_;  ///< bytes by address
  PageRanges untouched_;     ///< free, without memory: zeroes
  PageRanges touched_;       ///< free, with memory
  bool is_copy_ = false;
  int copied_[2] = {-1, -1};  ///< a pipe that ends when the child has its copy
};

}  // namespace weir::heap
