// SPDX-License-Identifier: Apache-2.0
/// Writes what the process is doing (process_report.h) to files: when a communicator fails, on a signal, and
/// on request.
///
/// Thread-safe.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "src/base/options.h"
#include "src/core/diagnosis/activity_registry.h"
#include "weir/status.h"

namespace weir::core {

class Dumper {
 public:
  /// `activities` outlives it. Where the options name a signal that nobody handles yet, this handles it from
  /// now on, with a thread of its own; one that somebody does is left alone, which is a warning.
  Dumper(const Options& options, const ActivityRegistry& activities, uint64_t host);
  ~Dumper();
  Dumper(const Dumper&) = delete;
  Dumper& operator=(const Dumper&) = delete;

  /// Writes to a file, in place of what is there; `pattern` may have %h and %p in it. Errors: system_error,
  /// which names the file.
  Status write(const std::string& pattern);
  /// The same to the file of the options, where those name one; an error is a warning.
  void note_failure();

 private:
  void listen(int signal);
  void serve();

  const ActivityRegistry& activities_;
  const uint64_t host_;
  const std::string pattern_;
  std::mutex mutex_;  ///< one file at a time
  int signal_ = 0;    ///< that it handles; 0: none
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weir::core
