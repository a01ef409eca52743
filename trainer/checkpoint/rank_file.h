// SPDX-License-Identifier: Apache-2.0
/// The file that one rank writes: records with parts of arrays, each with a checksum, and an index of them.
///
///     8 bytes "weirckp1", the floats of all records, then per record 40 bytes: unit and array (32 bits),
///     first element, elements, offset in the file, checksum (64 bits). Little-endian.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/checkpoint/files.h"
#include "trainer/checkpoint/manifest.h"

namespace weir::checkpoint {

/// A part of an array of a unit; element numbers count from the unit's first element.
struct Part {
  uint32_t unit = 0;
  uint32_t array = 0;
  uint64_t first = 0;
  std::span<const float> values;
};

struct Record {
  uint32_t unit = 0;
  uint32_t array = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t offset = 0;
  uint64_t checksum = 0;
};

/// Maximum number of elements per record, so that a reader that needs a few elements reads little more.
constexpr size_t kRecordElements = size_t{1} << 18;

/// Writes all parts to a new file; it is on disk when the call returns.
Result<FileEntry> write_rank_file(Files& files, const std::string& path, std::span<const Part> parts);

/// An open file whose index was read and verified. Used by one thread at a time.
class RankFile {
 public:
  /// invalid_argument with the path if the file is damaged or its length differs from the manifest's.
  static Result<RankFile> open(const std::string& path, const FileEntry& entry);
  RankFile(RankFile&& other) noexcept;
  RankFile& operator=(RankFile&&) = delete;
  ~RankFile();

  const std::vector<Record>& records() const { return records_; }
  const std::string& path() const { return path_; }
  /// Reads all elements of a record and verifies their checksum; errors name the elements.
  Status read(const Record& record, std::vector<float>& values) const;

 private:
  RankFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Status read_at(void* to, size_t bytes, uint64_t offset) const;
  Status read_index(const FileEntry& entry);
  Status damaged(const std::string& how) const;

  std::string path_;
  int file_;
  std::vector<Record> records_;
};

}  // namespace weir::checkpoint
