// SPDX-License-Identifier: Apache-2.0
/// The lines of the log, for tests that read them.
#pragma once

#include <string>

#include "src/base/log.h"
#include "tests/base/anonymous_file.h"

namespace weir::core {

/// Keeps what the process logs at INFO while it lives.
class Logged {
 public:
  explicit Logged(const char* subsystems = nullptr) {
    LogSettings settings;
    settings.level = "INFO";
    settings.file = file_.path();
    if (subsystems != nullptr) settings.subsystems = subsystems;
    configure_log(settings);
  }
  ~Logged() { configure_log({}); }
  std::string text() const { return file_.text(); }

 private:
  const testing::AnonymousFile file_;
};

}  // namespace weir::core
