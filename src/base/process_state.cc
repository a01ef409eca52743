// SPDX-License-Identifier: Apache-2.0

#include "src/base/process_state.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace weir {
namespace {

constexpr unsigned long kExiting = 0x4;  // PF_EXITING of Linux

}  // namespace

char process_state(int32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= line.size()) return '\0';
  char state = '\0';
  unsigned long flags = 0;
  // Format: proc(5), from the third field on.
  if (std::sscanf(line.c_str() + name_end + 1, " %c %*d %*d %*d %*d %*d %lu", &state, &flags) == 2 &&
      is_alive(state) && (flags & kExiting) != 0)
    return 'X';
  return line[name_end + 2];
}

}  // namespace weir
