// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/shared_errors.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>

namespace weir::trainer {
namespace {

constexpr const char* kName = "weir-train-errors";

std::string lines_in(int file) {
  std::string lines;
  std::array<char, 4096> part;
  ssize_t got = 0;
  while ((got = pread(file, part.data(), part.size(), static_cast<off_t>(lines.size()))) > 0)
    lines.append(part.data(), static_cast<size_t>(got));
  return lines;
}

void print(const std::string& line) { (void)!write(STDERR_FILENO, line.data(), line.size()); }

}  // namespace

int open_shared_errors() { return memfd_create(kName, 0); }

int shared_errors_of(std::string_view descriptor) {
  int file = -1;
  const auto [end, failed] = std::from_chars(descriptor.data(), descriptor.data() + descriptor.size(), file);
  if (failed != std::errc() || end != descriptor.data() + descriptor.size()) return -1;
  std::error_code error;
  const auto target = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file), error);
  return target.string().find(kName) != std::string::npos ? file : -1;
}

void print_error(int shared_errors, const std::string& error) {
  const std::string line = fmt::format("weir-train: {}\n", error);
  if (shared_errors < 0 || lockf(shared_errors, F_LOCK, 0) != 0) return print(line);
  const std::string before = lines_in(shared_errors);
  if (("\n" + before).find("\n" + line) == std::string::npos) {
    print(line);
    (void)!pwrite(shared_errors, line.data(), line.size(), static_cast<off_t>(before.size()));
  }
  (void)lockf(shared_errors, F_ULOCK, 0);
}

}  // namespace weir::trainer
