// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace weir::checkpoint {
namespace {

Status failed(const char* what, const std::string& path) {
  return Status(Code::system_error, fmt::format("{} {}: {}", what, path, std::strerror(errno)));
}

class SystemFiles final : public Files {
 public:
  Status make_folder(const std::string& path) override {
    return mkdir(path.c_str(), 0777) == 0 || errno == EEXIST ? Status() : failed("making", path);
  }

  Result<int> create(const std::string& path) override {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return failed("creating", path);
    return file;
  }

  Status write(int file, const void* data, size_t bytes, const std::string& path) override {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t written = ::write(file, at, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failed("writing", path);
      at += written;
      bytes -= static_cast<size_t>(written);
    }
    return Status();
  }

  Status sync(int file, const std::string& path) override {
    return fsync(file) == 0 ? Status() : failed("writing to disk", path);
  }

  Status close(int file, const std::string& path) override {
    return ::close(file) == 0 ? Status() : failed("closing", path);
  }

  Status sync_folder(const std::string& path) override {
    const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return failed("opening", path);
    const Status status = fsync(folder) == 0 ? Status() : failed("writing to disk", path);
    ::close(folder);
    return status;
  }

  Status replace(const std::string& from, const std::string& to) override {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return Status();
    if (errno == EEXIST && renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0)
      return Status();
    // Network file systems may support neither flag; an existing target is then not replaced.
    if (errno == EINVAL && access(to.c_str(), F_OK) != 0 && std::rename(from.c_str(), to.c_str()) == 0)
      return Status();
    return failed("renaming to", to);
  }

  Status remove(const std::string& path) override {
    return std::remove(path.c_str()) == 0 || errno == ENOENT ? Status() : failed("removing", path);
  }
};

}  // namespace

Files& system_files() {
  static SystemFiles files;
  return files;
}

Status write_file(Files& files, const std::string& path, const std::string& content) {
  Result<int> file = files.create(path);
  if (!file.ok()) return file.status();
  Status status = files.write(*file, content.data(), content.size(), path);
  if (status.ok()) status = files.sync(*file, path);
  const Status closed = files.close(*file, path);
  return status.ok() ? closed : status;
}

Status remove_folder(Files& files, const std::string& path, const std::string& first) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Status();
  WEIR_TRY(files.remove(path + "/" + first));
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    WEIR_TRY(files.remove(entry.path().string()));
  return files.remove(path);
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed("opening", path);
  std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return failed("reading", path);
  return content;
}

}  // namespace weir::checkpoint
