// SPDX-License-Identifier: Apache-2.0
/// The lines of the log, for tests that read them.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "src/base/log.h"

namespace weir::core {

/// Keeps what the process logs at INFO while it lives.
class Logged {
 public:
  explicit Logged(const char* subsystems = nullptr)
      : file_(
            fmt::format("{}/weir_logged_{}.log", std::filesystem::temp_directory_path().string(), getpid())) {
    LogSettings settings;
    settings.level = "INFO";
    settings.file = file_;
    if (subsystems != nullptr) settings.subsystems = subsystems;
    configure_log(settings);
  }
  ~Logged() {
    configure_log({});
    std::filesystem::remove(file_);
  }
  std::string text() const {
    std::stringstream all;
    all << std::ifstream(file_).rdbuf();
    return all.str();
  }

 private:
  const std::string file_;
};

}  // namespace weir::core
