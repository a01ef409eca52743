// SPDX-License-Identifier: Apache-2.0
/// A folder of the test's own, removed at its end; in memory where the system offers that, as disks take long
/// to write what many small tests ask them to.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace weir::checkpoint {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    const bool in_memory = std::filesystem::is_directory("/dev/shm", error);
    std::string pattern = (in_memory ? "/dev/shm/" : ::testing::TempDir()) + "weir-trainer-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace weir::checkpoint
