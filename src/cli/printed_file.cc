// SPDX-License-Identifier: Apache-2.0

#include "src/cli/printed_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "src/base/output_file.h"
#include "src/cli/failure.h"

namespace weir::cli {
namespace {

std::string content_of(std::FILE* file) {
  std::string text;
  char buffer[65536];
  std::rewind(file);
  for (size_t got; (got = std::fread(buffer, 1, sizeof(buffer), file)) > 0;) text.append(buffer, got);
  return text;
}

}  // namespace

int print_to(const std::string& path, const std::string& command, const std::function<int()>& act) {
  if (path.empty()) return act();
  if (const Status possible = try_output_file(path); !possible.ok())
    return report_failure(command, possible, kExitUsage);
  std::FILE* const printed = std::tmpfile();
  const int terminal = dup(STDOUT_FILENO);
  if (printed == nullptr || terminal < 0)
    return report_failure(
        command, Status(Code::system_error, std::string("no temporary file: ") + std::strerror(errno)), 1);
  std::fflush(stdout);
  dup2(fileno(printed), STDOUT_FILENO);
  int status = act();
  std::fflush(stdout);
  dup2(terminal, STDOUT_FILENO);
  close(terminal);
  if (status != kExitUsage) {
    if (const Status written = write_output_file(path, content_of(printed)); !written.ok())
      status = report_failure(command, written, 1);
  }
  std::fclose(printed);
  return status;
}

}  // namespace weir::cli
