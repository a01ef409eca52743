// SPDX-License-Identifier: Apache-2.0
/// A file in memory that programs open by a path and that nothing is left of, not even when the test is
/// killed.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace weir::testing {

class AnonymousFile {
 public:
  explicit AnonymousFile(std::string_view contents = {}) : fd_(memfd_create("weir-test", MFD_CLOEXEC)) {
    EXPECT_GE(fd_, 0);
    std::ofstream(path()) << contents;
  }
  ~AnonymousFile() { close(fd_); }
  AnonymousFile(const AnonymousFile&) = delete;
  AnonymousFile& operator=(const AnonymousFile&) = delete;

  /// For all processes of the user, while this one lives. It does not exist for realpath.
  const std::string& path() const { return path_; }
  std::string text() const {
    std::stringstream all;
    all << std::ifstream(path()).rdbuf();
    return all.str();
  }

 private:
  const int fd_;
  const std::string path_ = fmt::format("/proc/{}/fd/{}", getpid(), fd_);
};

}  // namespace weir::testing
