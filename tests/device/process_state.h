// SPDX-License-Identifier: Apache-2.0
/// Counts resources of a process, to show that none leak.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace weir::testing {

inline size_t open_descriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}

/// Number of mappings of weir's shared memory.
inline size_t shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("/memfd:weir-") != std::string::npos;
  return count;
}

}  // namespace weir::testing
