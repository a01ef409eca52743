// SPDX-License-Identifier: Apache-2.0
/// An open file descriptor that is closed at the end of its scope.
/// Tests: tests/device/mapped_file_test.cc
#pragma once

#include <unistd.h>

#include <utility>

namespace weir::device {

class Descriptor {
 public:
  /// Takes ownership of `fd`; a negative value means no descriptor.
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace weir::device
