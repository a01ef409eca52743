// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/job_secret.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "src/base/log.h"

namespace weir::core {
namespace {

constexpr size_t kMostBytes = 4096;  ///< a longer file is probably another one

/// Closes a descriptor.
struct OpenFile {
  explicit OpenFile(const std::string& path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
  OpenFile(const OpenFile&) = delete;

  const int fd;
};

Status unreadable(const std::string& path) {
  return {Code::system_error, fmt::format("the file {} of WEIR_SECRET_FILE cannot be read: {}", path,
                                          std::generic_category().message(errno))};
}

Status check_file(int fd, const std::string& path) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return unreadable(path);
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return {
        Code::invalid_usage,
        fmt::format("the file {} of WEIR_SECRET_FILE has the permissions {:03o}; expected a file that only "
                    "its owner may read (chmod 600)",
                    path, about.st_mode & 0777)};
  }
  return {};
}

Result<std::string> read_secret(const std::string& path) {
  const OpenFile file(path);
  if (file.fd < 0) return unreadable(path);
  WEIR_TRY(check_file(file.fd, path));
  std::array<char, kMostBytes + 1> buffer;
  size_t size = 0;
  for (;;) {
    const ssize_t got = read(file.fd, buffer.data() + size, buffer.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path);
    size += static_cast<size_t>(got);
    if (got == 0 || size == buffer.size()) break;
  }
  std::string text(buffer.data(), size);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (!text.empty() && size <= kMostBytes) return text;
  return Status(Code::invalid_usage, fmt::format("the file {} of WEIR_SECRET_FILE has {} bytes; expected a "
                                                 "secret of 1 to {} bytes",
                                                 path, size, kMostBytes));
}

}  // namespace

Result<Secret> job_secret(const std::string& file, const std::string& text) {
  if (!file.empty()) {
    const auto read = read_secret(file);
    WEIR_TRY(read.status());
    return Secret::from_text(*read);
  }
  return text.empty() ? Secret() : Secret::from_text(text);
}

std::string secret_of_environment() {
  const char* const text = std::getenv("WEIR_SECRET");
  return text == nullptr ? "" : text;
}

void warn_of_public_secret() {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  WEIR_WARN(
      "NCCL_COMM_ID is set, but neither WEIR_SECRET_FILE nor WEIR_SECRET: everybody who reaches the ports of "
      "this job can take part in it, change its data and end it; set one of them to the same random text on "
      "all ranks");
}

}  // namespace weir::core
