// SPDX-License-Identifier: Apache-2.0
/// Runs shell commands and keeps what they print.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace weir::testing {

struct CommandResult {
  int code = -1;     ///< as a shell counts: 128 + the signal for those that a signal ended
  std::string text;  ///< standard output (write 2>&1 for both)
};

inline CommandResult run_command(const std::string& command) {
  CommandResult result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) result.text.append(buffer, got);
  int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace weir::testing
