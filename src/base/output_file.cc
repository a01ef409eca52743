// SPDX-License-Identifier: Apache-2.0

#include "src/base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace weir {
namespace {

Status cannot_write(const std::string& path, int error) {
  return Status(Code::system_error,
                fmt::format("{} cannot be written: {}", path, std::generic_category().message(error)));
}

}  // namespace

Status try_output_file(const std::string& path) {
  struct stat known {};
  if (stat(path.c_str(), &known) == 0) {
    if (S_ISDIR(known.st_mode)) return cannot_write(path, EISDIR);
    // Opening a pipe or a terminal would be an act of its own.
    const bool regular = S_ISREG(known.st_mode);
    const int fd = regular ? open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (regular ? fd < 0 : access(path.c_str(), W_OK) != 0) return cannot_write(path, errno);
    if (fd >= 0) close(fd);
    return {};
  }
  if (errno != ENOENT) return cannot_write(path, errno);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno != EEXIST) return cannot_write(path, errno);  // another rank may have just tried it
  if (fd < 0) return {};
  close(fd);
  unlink(path.c_str());
  return {};
}

Status write_output_file(const std::string& path, std::string_view text) {
  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<FILE, Close> file(std::fopen(path.c_str(), "we"));
  const bool written = file != nullptr &&
                       std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                       std::fflush(file.get()) == 0;
  if (!written) return cannot_write(path, errno);
  return std::fclose(file.release()) == 0 ? Status() : cannot_write(path, errno);
}

}  // namespace weir
