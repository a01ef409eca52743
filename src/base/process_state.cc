// SPDX-License-Identifier: Apache-2.0

#include "src/base/process_state.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace weir {

char process_state(int32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() ? line[name_end + 2] : '\0';
}

}  // namespace weir
