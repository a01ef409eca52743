// SPDX-License-Identifier: Apache-2.0
/// Finds the file behind memory that a user mapped: shared memory in /dev/shm, a memfd, or an ordinary file.
/// Other processes can then map it, too.
/// Tests: tests/device/mapped_file_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/status.h"
#include "src/device/descriptor.h"

namespace weir::device {

struct MappedFile {
  Descriptor file;      ///< the file, open for reading and writing; owned by this struct
  uint64_t device = 0;  ///< device number of the file, beside its inode number
  uint64_t inode = 0;
  uint64_t offset = 0;  ///< offset of the first page in the file, in bytes
  std::byte* begin = nullptr;
  size_t bytes = 0;  ///< size in bytes, whole pages
};

/// The file behind all pages of [data, data + bytes). Reads /proc/self/maps; allocates. Errors:
/// invalid_argument if the bytes are not in one writable shared mapping of one file, system_error if the file
/// cannot be opened again; messages say what would help. REQUIRES: bytes > 0. Thread-safe.
Result<MappedFile> find_mapped_file(const void* data, size_t bytes);

}  // namespace weir::device
