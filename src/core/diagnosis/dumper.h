// SPDX-License-Identifier: Apache-2.0
/// Writes reports of the process (process_report.h) to files: when a communicator fails, on a signal, and on
/// request.
///
/// Thread-safe.
/// Tests: tests/api/dump_test.cc
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "src/base/options.h"
#include "src/base/status.h"
#include "src/core/diagnosis/activity_registry.h"

namespace weir::core {

class Dumper {
 public:
  /// `activities` outlives the dumper. If the options name a signal without a handler, installs one and
  /// starts a thread for it; if the program already handles the signal, logs a warning and does not use it.
  /// A file that could not be written is warned of now, while that can be mended.
  Dumper(const Options& options, const ActivityRegistry& activities, uint64_t host);
  ~Dumper();
  Dumper(const Dumper&) = delete;
  Dumper& operator=(const Dumper&) = delete;

  /// Replaces a file with a report; `pattern` may contain %h and %p. Errors: system_error, which names the
  /// file.
  Status write(const std::string& pattern);
  /// Writes to the file that the options name, if any; logs an error as a warning.
  void note_failure();

 private:
  void listen(int signal);
  void serve();

  const ActivityRegistry& activities_;
  const uint64_t host_;
  const std::string pattern_;
  std::mutex mutex_;  ///< held while a file is written
  int signal_ = 0;    ///< signal that it handles; 0: none
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weir::core
