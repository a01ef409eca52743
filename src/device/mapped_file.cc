// SPDX-License-Identifier: Apache-2.0

#include "src/device/mapped_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

namespace weir::device {
namespace {

/// A line of /proc/self/maps.
struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool shared_and_writable = false;
  uint64_t offset = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string path;
};

std::optional<Mapping> parse(const std::string& line) {
  unsigned long begin = 0, end = 0, offset = 0, inode = 0;
  unsigned major_number = 0, minor_number = 0;
  char access[5] = {};
  int path_at = 0;
  // Format: proc(5).
  if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %x:%x %lu %n", &begin, &end, access, &offset, &major_number,
                  &minor_number, &inode, &path_at) != 7) {
    return std::nullopt;
  }
  return Mapping{begin,
                 end,
                 access[0] == 'r' && access[1] == 'w' && access[3] == 's',
                 offset,
                 makedev(major_number, minor_number),
                 inode,
                 line.substr(static_cast<size_t>(path_at))};
}

bool is_file(const Descriptor& file, const Mapping& mapping) {
  struct stat info;
  return file.ok() && fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) &&
         info.st_ino == mapping.inode && info.st_dev == mapping.device;
}

/// Finds a descriptor of this process that refers to the mapped file, and opens its file again. Uses only
/// names under /proc, because other threads open and close descriptors meanwhile.
Descriptor reopen_own_descriptor(const Mapping& mapping, int flags) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), closedir);
  if (directory == nullptr) return Descriptor(-1);
  while (const dirent* entry = readdir(directory.get())) {
    const std::string name = fmt::format("/proc/self/fd/{}", entry->d_name);
    struct stat info;
    if (stat(name.c_str(), &info) != 0 || info.st_ino != mapping.inode || !S_ISREG(info.st_mode)) continue;
    Descriptor file(open(name.c_str(), flags));
    if (is_file(file, mapping)) return file;
  }
  return Descriptor(-1);
}

/// Opens the mapped file by its name, by an open descriptor, or (with CAP_CHECKPOINT_RESTORE) by the mapping
/// itself.
Result<Descriptor> open_file(const Mapping& mapping) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  Descriptor file(mapping.path.starts_with('/') ? open(mapping.path.c_str(), kFlags) : -1);
  if (is_file(file, mapping)) return file;
  file = reopen_own_descriptor(mapping, kFlags);
  if (file.ok()) return file;
  file = Descriptor(
      open(fmt::format("/proc/self/map_files/{:x}-{:x}", mapping.begin, mapping.end).c_str(), kFlags));
  if (is_file(file, mapping)) return file;
  return Status(Code::system_error,
                fmt::format("cannot open the file of the shared memory at {:#x} ({}); keep its descriptor "
                            "open until the memory is registered",
                            mapping.begin, mapping.path.empty() ? "no name" : mapping.path));
}

Status not_shared(const void* data, size_t bytes) {
  return {Code::invalid_argument,
          fmt::format("{} bytes at {} cannot be mapped by peers; expected one writable shared mapping "
                      "(MAP_SHARED) of a file, or memory from ncclMemAlloc",
                      bytes, data)};
}

/// The mapping of [begin, end); adjacent lines of the same file are merged.
std::optional<Mapping> find_mapping(uintptr_t begin, uintptr_t end) {
  std::ifstream maps("/proc/self/maps");
  std::optional<Mapping> found;
  for (std::string line; std::getline(maps, line);) {
    const std::optional<Mapping> next = parse(line);
    if (!next || next->end <= begin) continue;
    if (!next->shared_and_writable) return std::nullopt;
    if (!found) {
      if (next->begin > begin) return std::nullopt;
      found = next;
    } else {
      const bool continues = next->begin == found->end && next->device == found->device &&
                             next->inode == found->inode &&
                             next->offset == found->offset + (found->end - found->begin);
      if (!continues) return std::nullopt;
      found->end = next->end;
    }
    if (found->end >= end) return found;
  }
  return std::nullopt;
}

}  // namespace

Result<MappedFile> find_mapped_file(const void* data, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(data);
  if (bytes > SIZE_MAX - at - page) return not_shared(data, bytes);
  const uintptr_t begin = at / page * page;
  const uintptr_t end = (at + bytes + page - 1) / page * page;
  const std::optional<Mapping> mapping = find_mapping(begin, end);
  if (!mapping) return not_shared(data, bytes);
  Result<Descriptor> file = open_file(*mapping);
  if (!file.ok()) return file.status();
  return MappedFile{std::move(*file),
                    mapping->device,
                    mapping->inode,
                    mapping->offset + (begin - mapping->begin),
                    reinterpret_cast<std::byte*>(begin),
                    end - begin};
}

}  // namespace weir::device
