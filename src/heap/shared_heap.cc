// SPDX-License-Identifier: Apache-2.0

#include "src/heap/shared_heap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

namespace weir::heap {
namespace {

constexpr size_t kPage = 4096;
/// Freed pages that are kept are at most this part of the heap, and this many bytes.
constexpr size_t kKeptPart = 16;
constexpr size_t kMostKept = size_t{512} << 20;

constexpr size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void* at(uintptr_t address) { return reinterpret_cast<void*>(address); }

/// Without memory of its own: the heap may be broken, or the process be a child that may not allocate.
[[noreturn]] void end(std::string_view sentence) {
  (void)!write(STDERR_FILENO, sentence.data(), sentence.size());
  abort();
}

}  // namespace

SharedHeap* SharedHeap::create(size_t bytes, const char*& call, SharedHeap* older) {
  bytes = bytes / kPage * kPage;
  call = "making it within ulimit -f and -v";
  errno = EFBIG;
  if (bytes < kLeast) return nullptr;
  call = "memfd_create";
  const int file = memfd_create("weir-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return nullptr;
  call = "ftruncate";
  void* memory = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0 &&
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    call = "mmap";
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  void* const own = memory != MAP_FAILED ? __libc_malloc(sizeof(SharedHeap)) : nullptr;
  if (own == nullptr) {
    const int error = errno;
    if (memory != MAP_FAILED) munmap(memory, bytes);
    close(file);
    errno = error;
    return nullptr;
  }
  madvise(memory, bytes, MADV_DONTFORK);
  madvise(memory, bytes, MADV_HUGEPAGE);  // where the kernel has huge pages of shared memory
  return new (own) SharedHeap(file, reinterpret_cast<uintptr_t>(memory), bytes, older);
}

SharedHeap::SharedHeap(int file, uintptr_t begin, size_t bytes, SharedHeap* older)
    : file_(file), begin_(begin), bytes_(bytes), older_(older) {
  untouched_.add(begin, bytes);
}

void* SharedHeap::allocate(size_t bytes, size_t alignment, bool zeroes) {
  if (bytes > bytes_) return nullptr;
  bytes = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  if (is_copy_) return nullptr;
  try {
    const uintptr_t found = take(bytes, std::max(alignment, kPage), zeroes);
    if (found != 0) allocations_.emplace(found, bytes);
    return at(found);
  } catch (const std::bad_alloc&) {  // of the tables: the pages, if any, are lost
    return nullptr;
  }
}

/// Zeroes are pages without memory, if there are any.
uintptr_t SharedHeap::take(size_t bytes, size_t alignment, bool zeroes) {
  if (!zeroes) {
    if (const uintptr_t found = touched_.take(bytes, alignment); found != 0) return found;
  }
  if (const uintptr_t found = untouched_.take(bytes, alignment); found != 0) return found;
  touched_.drain([this](uintptr_t begin, size_t size) { give_back(begin, size); });
  return untouched_.take(bytes, alignment);
}

void SharedHeap::free(void* data) {
  const std::lock_guard lock(mutex_);
  const auto allocation = find(data);
  const auto [begin, bytes] = *allocation;
  allocations_.erase(allocation);
  if (is_copy_) {
    munmap(at(begin), bytes);
  } else if (touched_.bytes() + bytes <= std::min(bytes_ / kKeptPart, kMostKept)) {
    touched_.add(begin, bytes);
  } else {
    give_back(begin, bytes);
  }
}

/// Where the kernel does not take memory back, it is filled with zeroes.
void SharedHeap::give_back(uintptr_t begin, size_t bytes) {
  if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin - begin_),
                static_cast<off_t>(bytes)) != 0)
    std::memset(at(begin), 0, bytes);
  untouched_.add(begin, bytes);
}

size_t SharedHeap::size_of(void* data) {
  const std::lock_guard lock(mutex_);
  return find(data)->second;
}

bool SharedHeap::extend(void* data, size_t bytes) {
  if (bytes > bytes_) return false;
  bytes = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  const auto allocation = find(data);
  if (bytes <= allocation->second) return true;
  if (is_copy_) return false;
  const uintptr_t end = allocation->first + allocation->second;
  const size_t more = bytes - allocation->second;
  if (!touched_.take_at(end, more) && !untouched_.take_at(end, more)) return false;
  allocation->second = bytes;
  return true;
}

SharedHeap::Allocations::iterator SharedHeap::find(void* data) {
  const auto allocation = allocations_.find(reinterpret_cast<uintptr_t>(data));
  if (allocation == allocations_.end())
    end("weir: a program freed or resized memory that malloc did not give it, or freed it twice\n");
  return allocation;
}

void SharedHeap::before_fork() {
  mutex_.lock();
  if (is_copy_) return;
  if (pipe2(copied_, O_CLOEXEC) != 0) copied_[0] = copied_[1] = -1;
  madvise(at(begin_), bytes_, MADV_DOFORK);
}

/// Waits until the child has its copy, or has ended, or there is none.
void SharedHeap::after_fork_in_parent() {
  if (!is_copy_) {
    madvise(at(begin_), bytes_, MADV_DONTFORK);
    close(copied_[1]);
    char none = 0;
    while (read(copied_[0], &none, 1) < 0 && errno == EINTR) {
    }
    close(copied_[0]);
  }
  mutex_.unlock();
}

void SharedHeap::after_fork_in_child() {
  if (!is_copy_) {
    if (copied_[0] < 0)
      end("weir: a process with a shared heap could not fork: it has no file descriptors left\n");
    copy_allocations();
    is_copy_ = true;
    close(copied_[0]);
    close(copied_[1]);
    close(file_);
  }
  mutex_.unlock();
}

/// Copies what has been touched, then replaces the shared heap by the copies.
void SharedHeap::copy_allocations() {
  std::vector<void*, LibcMemory<void*>> copies;
  for (const auto& [begin, bytes] : allocations_) {
    void* const copy =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED) end("weir: no memory for a forked child's copy of the shared heap\n");
    const auto first = static_cast<off_t>(begin - begin_);
    const off_t last = first + static_cast<off_t>(bytes);
    for (off_t data = first; (data = lseek(file_, data, SEEK_DATA)) >= 0 && data < last;) {
      const off_t hole = std::min(lseek(file_, data, SEEK_HOLE), last);
      std::memcpy(static_cast<std::byte*>(copy) + (data - first), at(begin_ + static_cast<size_t>(data)),
                  static_cast<size_t>(hole - data));
      data = hole;
    }
    copies.push_back(copy);
  }
  if (mmap(at(begin_), bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    end("weir: a forked child could not replace the shared heap by its copy\n");
  auto copy = copies.begin();
  for (const auto& [begin, bytes] : allocations_) {
    if (mremap(*copy++, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(begin)) == MAP_FAILED)
      end("weir: a forked child could not replace the shared heap by its copy\n");
  }
}

}  // namespace weir::heap
