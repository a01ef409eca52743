// SPDX-License-Identifier: Apache-2.0
/// Memory to register with transports: a file that the test can look into as well.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "transports/slot_memory.h"

namespace weir::testing {

class MemoryFile final : public SlotMemory {
 public:
  explicit MemoryFile(size_t bytes) : bytes_(bytes), file_(memfd_create("slots", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_.fd(), static_cast<off_t>(bytes)), 0);
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), 0);
    EXPECT_NE(memory_, MAP_FAILED);
  }
  ~MemoryFile() override { munmap(memory_, bytes_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::byte* begin() const override { return static_cast<std::byte*>(memory_); }
  size_t bytes() const override { return bytes_; }
  Result<Socket> file() const override {
    if (!has_file) return Status(Code::system_error, "there is no file");
    return Socket(dup(file_.fd()));
  }
  Status allows(const std::string& device) const override {
    return device == forbidden ? Status(Code::invalid_usage, device + " is too far away") : Status();
  }

  bool has_file = true;
  std::string forbidden;

 private:
  const size_t bytes_;
  const Socket file_;
  void* memory_ = nullptr;
};

}  // namespace weir::testing
