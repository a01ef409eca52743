// SPDX-License-Identifier: Apache-2.0

#include "bench/scale/memory.h"

#include <dirent.h>
#include <malloc.h>

#include <fstream>
#include <string>
#include <string_view>

namespace weir::scale {
namespace {

/// The number after `name` in a file of lines "Name:   123 kB".
int64_t field(const char* file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':')
      return std::stoll(line.substr(name.size() + 1));
  }
  return 0;
}

int64_t lines_of(const char* file) {
  std::ifstream lines(file);
  int64_t count = 0;
  for (std::string line; std::getline(lines, line);) ++count;
  return count;
}

int64_t entries_of(const char* folder) {
  DIR* const open = opendir(folder);
  if (open == nullptr) return 0;
  int64_t count = 0;
  while (const dirent* entry = readdir(open))
    if (entry->d_name[0] != '.') ++count;
  closedir(open);
  return count - 1;  // do not count the descriptor that reads the folder
}

}  // namespace

Footprint& Footprint::operator+=(const Footprint& other) {
  heap += other.heap;
  resident += other.resident;
  peak += other.peak;
  descriptors += other.descriptors;
  mappings += other.mappings;
  threads += other.threads;
  return *this;
}

Footprint Footprint::operator-(const Footprint& other) const {
  return {heap - other.heap,         resident - other.resident,
          peak - other.peak,         descriptors - other.descriptors,
          mappings - other.mappings, threads - other.threads};
}

Footprint footprint() {
  malloc_trim(0);
  const struct mallinfo2 heap = mallinfo2();
  constexpr int64_t kKiB = 1024;
  return {static_cast<int64_t>(heap.uordblks + heap.hblkhd),
          field("/proc/self/smaps_rollup", "Pss") * kKiB,
          field("/proc/self/status", "VmHWM") * kKiB,
          entries_of("/proc/self/fd"),
          lines_of("/proc/self/maps"),
          field("/proc/self/status", "Threads")};
}

}  // namespace weir::scale
