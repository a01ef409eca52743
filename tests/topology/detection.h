// SPDX-License-Identifier: Apache-2.0
/// What tests of detection share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "topology/detect/detect.h"
#include "topology/model/check.h"

namespace weir::topology {

/// A record that the test writes, in a folder that ends with it.
class Detection : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/weir-detect-XXXXXX";
    folder_ = mkdtemp(name);
    std::filesystem::create_directories(folder_ + "/root");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + path).parent_path());
    std::ofstream(folder_ + path) << text << "\n";
  }
  void link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/root" + path).parent_path());
    std::filesystem::create_symlink(target, folder_ + "/root" + path);
  }
  Detected run() {
    auto machine = drivers::replay_machine(folder_);
    EXPECT_TRUE(machine.ok()) << machine.status().message();
    Detected detected = detect(**machine);
    EXPECT_TRUE(check(detected.graph).ok()) << check(detected.graph).message();
    return detected;
  }

  std::string folder_;
};

inline auto says(const std::string& probe, const std::string& words) {
  using namespace ::testing;
  return Contains(AllOf(Field(&Finding::probe, probe), Field(&Finding::sentence, HasSubstr(words))));
}

}  // namespace weir::topology
