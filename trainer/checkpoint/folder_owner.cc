// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/folder_owner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace weir::checkpoint {
namespace {

std::string self() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("process {} on host {}\n", getpid(), host.data());
}

/// What the holder of the lock has written about itself.
std::string holder(int file) {
  std::array<char, 512> text{};
  const ssize_t bytes = pread(file, text.data(), text.size(), 0);
  std::string words(text.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
  words = words.substr(0, words.find('\n'));
  for (char& byte : words)
    if (byte < ' ' || byte > '~') byte = '?';
  return words.empty() ? "another run" : words;
}

}  // namespace

Result<FolderOwner> FolderOwner::take(const std::string& folder) {
  const std::string path = folder + "/lock";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    return Status(
        Code::system_error,
        fmt::format("checkpoints cannot be written to {}: creating {}: {}; expected a folder with the "
                    "permission to write",
                    folder, path, std::strerror(errno)));
  FolderOwner lock(file);
  if (flock(file, LOCK_EX | LOCK_NB) == 0) {
    const std::string words = self();
    (void)!ftruncate(file, 0);
    (void)!pwrite(file, words.data(), words.size(), 0);  // for the message above only
    return lock;
  }
  // Some file systems know no locks: there two runs are not noticed.
  if (errno != EWOULDBLOCK) return lock;
  return Status(
      Code::invalid_usage,
      fmt::format("the checkpoint folder {} is in use by {}; expected a folder of its own for each run",
                  folder, holder(file)));
}

FolderOwner::FolderOwner(FolderOwner&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FolderOwner::~FolderOwner() {
  if (file_ >= 0) close(file_);
}

}  // namespace weir::checkpoint
