// SPDX-License-Identifier: Apache-2.0
/// Memory that other processes of the same host can map. It is a memfd, which has no name in any file system,
/// so nothing is left behind however the processes end; or it is memory that a user has mapped from a file.
///
/// The owner creates it and sends its ShareHandle to peers; a peer attaches through the owner's descriptor
/// (/proc/PID/fd/FD, or pidfd_getfd where /proc does not show it). The segment is sparse: a page uses memory
/// only after it is first touched. The size of a memfd is sealed, so access to its mapping never raises
/// SIGBUS.
///
/// Thread safety: none per object; distinct objects may be used from distinct threads.
/// Tests: tests/device/shared_memory_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "src/base/status.h"

namespace weir::device {

/// What a peer needs to map a segment. Trivially copyable, to be sent in transport addresses. Valid while the
/// owner's SharedMemory lives.
struct ShareHandle {
  int32_t pid = 0;             ///< process id of the owner in its own pid namespace
  int32_t fd = -1;             ///< the owner's descriptor of the file
  uint64_t pid_namespace = 0;  ///< inode of the owner's pid namespace; 0 where it cannot be read
  uint64_t token = 0;  ///< random number in the memfd's name, so that a handle never matches another segment;
                       ///< 0: adopted file
  uint64_t device = 0;  ///< device number of the file, beside its inode number
  uint64_t inode = 0;
  uint64_t offset = 0;  ///< offset in the file in bytes, whole pages
  uint64_t size = 0;    ///< size in bytes, whole pages
  /// Equal for processes that the kernel treats alike: same user, groups, capabilities, namespaces and
  /// security label, as they were when the owner created the segment. 0: unknown, and for adopted files.
  uint64_t access = 0;

  bool operator==(const ShareHandle&) const = default;
};

/// The page size of a segment. `huge` aligns the mapping to 2 MiB and requests transparent huge pages, which
/// the kernel may refuse. A touched byte may then use 2 MiB, so it is not for sparse segments.
enum class Pages : uint8_t { normal, huge };

/// A mapped segment, owned, adopted or attached. Move-only; the destructor unmaps what it mapped and, for the
/// owner, closes.
class SharedMemory {
 public:
  /// No segment: data() is null, size() is 0.
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory() { reset(); }

  /// Creates a segment of zeroes, mapped for reading and writing. `size` is rounded up to whole pages.
  /// Errors: invalid_argument for size 0, system_error with the failed call and advice.
  static Result<SharedMemory> create(size_t size, Pages pages = Pages::normal);

  /// Makes memory that the user has mapped (shared, from a file) available to peers: all pages of [data, data
  /// + bytes). The user keeps ownership of the mapping, which must outlive this object; the file must not be
  /// truncated meanwhile, or access to the memory raises SIGBUS. Errors: as find_mapped_file;
  /// invalid_argument beyond the file's end.
  static Result<SharedMemory> adopt(const void* data, size_t bytes);

  /// Maps the segment of another process (or of this one). Errors: system_error with the reason why this
  /// process cannot access the owner and what must be changed; remote_error if the owner has ended, or if its
  /// memory is not sealed against shrinking and was not adopted.
  static Result<SharedMemory> attach(const ShareHandle& handle, Pages pages = Pages::normal);

  /// Checks whether attach() would find the segment, without mapping it. Errors: those of attach().
  static Status probe(const ShareHandle& handle);

  /// Size in bytes of all pages that any process has touched; 0 if this object is not the owner.
  size_t used_bytes() const;

  std::byte* data() const { return data_; }
  size_t size() const { return handle_.size; }
  /// The handle with which peers attach. It is the same for the owner and for attached objects.
  const ShareHandle& handle() const { return handle_; }

  /// Unmaps the segment now.
  void reset();

 private:
  SharedMemory(const ShareHandle& handle, int owned_fd, std::byte* data, bool owns_mapping)
      : handle_(handle), owned_fd_(owned_fd), data_(data), owns_mapping_(owns_mapping) {}

  ShareHandle handle_;
  int owned_fd_ = -1;
  std::byte* data_ = nullptr;
  bool owns_mapping_ = true;
};

}  // namespace weir::device
