// SPDX-License-Identifier: Apache-2.0
/// A session with one client of the RAS port, without its socket: takes lines, returns replies.
///
/// The protocol is NCCL's, version 2 (NVIDIA/nccl, src/ras/client_support.cc): one command per line, in any
/// case; STATUS, VERBOSE STATUS and DIAGNOSTICS end the session with a report.
/// Tests: tests/survey/ras_session_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/survey/ras_events.h"
#include "src/survey/ras_report.h"

namespace weir::survey {

class RasSession {
 public:
  static constexpr size_t kLongestLine = 1024;

  /// `controls`: the client may give orders, not only ask.
  explicit RasSession(bool controls = true) : controls_(controls) {}

  /// Handles bytes from the client and returns the immediate reply. Ignores all bytes after a request for a
  /// report.
  std::string take(std::string_view bytes);
  /// True after a line that was too long: the connection is to be closed.
  bool broken() const { return broken_; }
  bool wants_report() const { return wants_report_; }
  bool monitors() const { return events_ != 0; }
  /// Time limit for answers of other processes.
  int64_t timeout_ms() const { return timeout_ms_; }

  /// The mask of CONTROL PROFILER_MASK that came last; each is returned once.
  std::optional<int32_t> take_profiler_mask() { return std::exchange(profiler_mask_, std::nullopt); }

  std::string report(const Job& job, const RasVersions& versions) const;
  /// The text of those events that the client monitors.
  std::string events(const std::vector<RasEvent>& events) const;

 private:
  std::string reply(std::string_view line);
  std::string set_timeout(std::string_view text);
  std::string set_format(std::string_view text);
  std::string monitor(std::string_view groups);
  std::string control(std::string_view text);
  std::string begin_diagnostics();

  const bool controls_;
  std::string line_;  ///< incomplete last line
  int64_t timeout_ms_ = 5000;
  unsigned events_ = 0;  ///< bits of RasEvent::Group
  bool json_ = false;
  bool verbose_ = false;
  bool wants_report_ = false;
  bool diagnoses_ = false;
  bool refused_ = false;  ///< DIAGNOSTICS was refused: its report is empty
  std::optional<int32_t> profiler_mask_;
  bool broken_ = false;
};

}  // namespace weir::survey
