// SPDX-License-Identifier: Apache-2.0
/// Which file lies behind memory that a user mapped: shared memory in /dev/shm, a memfd, a mapped file. Other
/// processes can map it as well.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/device/descriptor.h"
#include "weir/status.h"

namespace weir::device {

struct MappedFile {
  Descriptor file;      ///< open for reading and writing; the finder's own
  uint64_t device = 0;  ///< of the file, and its inode
  uint64_t inode = 0;
  uint64_t offset = 0;  ///< of the first page in the file
  std::byte* begin = nullptr;
  size_t bytes = 0;  ///< whole pages
};

/// The file behind all pages of [data, data + bytes). Reads /proc/self/maps; allocates. Errors:
/// invalid_argument where it is not one writable shared mapping of one file, system_error where the file
/// cannot be opened (again); each says what would help. REQUIRES: bytes > 0. Thread-safe.
Result<MappedFile> find_mapped_file(const void* data, size_t bytes);

}  // namespace weir::device
