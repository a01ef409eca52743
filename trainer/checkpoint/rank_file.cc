// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/rank_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trainer/checkpoint/checksum.h"

namespace weir::checkpoint {
namespace {

constexpr char kMagic[8] = {'w', 'e', 'i', 'r', 'c', 'k', 'p', '1'};
static_assert(sizeof(Record) == 40);
static_assert(std::endian::native == std::endian::little);

Status write_records(Files& files, int file, const std::string& path, std::span<const Part> parts,
                     std::vector<Record>& records) {
  WEIR_TRY(files.write(file, kMagic, sizeof kMagic, path));
  uint64_t offset = sizeof kMagic;
  for (const Part& part : parts)
    for (size_t done = 0; done < part.values.size(); done += kRecordElements) {
      const std::span<const float> values =
          part.values.subspan(done, std::min(kRecordElements, part.values.size() - done));
      records.push_back({part.unit, part.array, part.first + done, values.size(), offset,
                         checksum(values.data(), values.size_bytes())});
      WEIR_TRY(files.write(file, values.data(), values.size_bytes(), path));
      offset += values.size_bytes();
    }
  return files.write(file, records.data(), records.size() * sizeof(Record), path);
}

}  // namespace

Result<FileEntry> write_rank_file(Files& files, const std::string& path, std::span<const Part> parts) {
  Result<int> file = files.create(path);
  if (!file.ok()) return file.status();
  std::vector<Record> records;
  Status status = write_records(files, *file, path, parts, records);
  if (status.ok()) status = files.sync(*file, path);
  const Status closed = files.close(*file, path);
  if (!status.ok()) return status;
  if (!closed.ok()) return closed;
  const size_t index = records.size() * sizeof(Record);
  const uint64_t end =
      records.empty() ? sizeof kMagic : records.back().offset + records.back().count * sizeof(float);
  return FileEntry{end + index, records.size(), checksum(records.data(), index)};
}

RankFile::RankFile(RankFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      records_(std::move(other.records_)) {}

RankFile::~RankFile() {
  if (file_ >= 0) ::close(file_);
}

Status RankFile::damaged(const std::string& how) const {
  return Status(Code::invalid_argument, fmt::format("{}: {}", path_, how));
}

Result<RankFile> RankFile::open(const std::string& path, const FileEntry& entry) {
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0)
    return Status(Code::system_error, fmt::format("opening {}: {}", path, std::strerror(errno)));
  RankFile file(path, number);
  WEIR_TRY(file.read_index(entry));
  return file;
}

Status RankFile::read_at(void* to, size_t bytes, uint64_t offset) const {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(file_, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Status(Code::system_error, fmt::format("reading {}: {}", path_, std::strerror(errno)));
    if (got == 0) return damaged(fmt::format("ends at byte {}; it was cut short", offset));
    at += got;
    bytes -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
  return Status();
}

Status RankFile::read_index(const FileEntry& entry) {
  struct stat found {};
  if (fstat(file_, &found) != 0)
    return Status(Code::system_error, fmt::format("reading {}: {}", path_, std::strerror(errno)));
  const auto bytes = static_cast<uint64_t>(found.st_size);
  if (bytes != entry.bytes)
    return damaged(fmt::format("has {} bytes; expected {}: it was {}", bytes, entry.bytes,
                               bytes < entry.bytes ? "cut short" : "written to"));
  if (entry.records > bytes / sizeof(Record)) return damaged("is too short for its records");
  char magic[sizeof kMagic];
  WEIR_TRY(read_at(magic, sizeof magic, 0));
  if (std::memcmp(magic, kMagic, sizeof magic) != 0) return damaged("does not begin with weirckp1");
  records_.resize(entry.records);
  const uint64_t index = bytes - entry.records * sizeof(Record);
  WEIR_TRY(read_at(records_.data(), records_.size() * sizeof(Record), index));
  const uint64_t sum = checksum(records_.data(), records_.size() * sizeof(Record));
  if (sum != entry.index_checksum)
    return damaged(
        fmt::format("the checksum of its index is {:016x}; expected {:016x}", sum, entry.index_checksum));
  for (const Record& record : records_)
    if (record.count > kRecordElements || record.offset > index ||
        record.count * sizeof(float) > index - record.offset)
      return damaged("a record lies outside of the file");
  return Status();
}

Status RankFile::read(const Record& record, std::vector<float>& values) const {
  values.resize(record.count);
  WEIR_TRY(read_at(values.data(), record.count * sizeof(float), record.offset));
  const uint64_t sum = checksum(values.data(), record.count * sizeof(float));
  if (sum != record.checksum)
    return damaged(fmt::format("the checksum of elements {} to {} is {:016x}; expected {:016x}", record.first,
                               record.first + record.count, sum, record.checksum));
  return Status();
}

}  // namespace weir::checkpoint
