// SPDX-License-Identifier: Apache-2.0
/// Memory that other processes of the same host can map: a memfd, so nothing has a name in any file system
/// and nothing stays behind, whoever dies and however; or what a user has mapped from a file.
///
/// The owner creates it and tells peers its ShareHandle; a peer attaches through the owner's descriptor
/// (/proc/PID/fd/FD, or pidfd_getfd where /proc does not show it). The segment is sparse: pages cost memory
/// when they are first touched. A memfd cannot be shrunk or grown once made, so its mapping never faults with
/// SIGBUS.
///
/// Thread safety: none per object; distinct objects may be used from distinct threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "weir/status.h"

namespace weir::device {

/// What a peer must know to map a segment. Trivially copyable, meant to travel in transport addresses. Valid
/// while the owner's SharedMemory lives.
struct ShareHandle {
  int32_t pid = 0;             ///< of the owner, in its own pid namespace
  int32_t fd = -1;             ///< of the file, in the owner
  uint64_t pid_namespace = 0;  ///< inode of the owner's pid namespace; 0 where it cannot be read
  uint64_t token =
      0;  ///< random; part of a memfd's name, so a handle never meets another segment. 0: adopted
  uint64_t device = 0;  ///< of the file, and its inode
  uint64_t inode = 0;
  uint64_t offset = 0;  ///< in the file, whole pages
  uint64_t size = 0;    ///< bytes, whole pages

  bool operator==(const ShareHandle&) const = default;
};

/// Which pages a segment should have. `huge` aligns the mapping to 2 MiB and asks for transparent huge pages,
/// which the kernel grants or not; a touched byte may then cost 2 MiB, so it is wrong for sparse segments.
enum class Pages : uint8_t { normal, huge };

/// A mapped segment, owned, adopted or attached. Move-only; the destructor unmaps what it mapped and, for the
/// owner, closes.
class SharedMemory {
 public:
  /// Holds nothing: data() is null, size() 0.
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory() { reset(); }

  /// A new segment of zeroes, mapped for reading and writing. `size` is rounded up to whole pages.
  /// Errors: invalid_argument for size 0, system_error with what the kernel refused and what helps.
  static Result<SharedMemory> create(size_t size, Pages pages = Pages::normal);

  /// What a user has mapped himself, shared and from a file, made known to peers: all pages of [data, data +
  /// bytes). The mapping stays the user's and must outlive this; so must the file's length, else whoever
  /// touches the memory gets SIGBUS. Errors: as find_mapped_file; invalid_argument beyond the file's end.
  static Result<SharedMemory> adopt(const void* data, size_t bytes);

  /// Maps the segment of another process (or of this one). Errors: system_error that says why this process
  /// cannot reach the owner and what would have to change; remote_error when the owner has gone.
  static Result<SharedMemory> attach(const ShareHandle& handle, Pages pages = Pages::normal);

  /// Whether attach() would find the segment: the same errors, nothing mapped.
  static Status probe(const ShareHandle& handle);

  /// Bytes of the pages that somebody has touched, whoever it was. Of the owner; 0 for others.
  size_t used_bytes() const;

  std::byte* data() const { return data_; }
  size_t size() const { return handle_.size; }
  /// What peers attach with. The same for the owner and for those attached.
  const ShareHandle& handle() const { return handle_; }

  /// Unmaps now.
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
