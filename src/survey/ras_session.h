// SPDX-License-Identifier: Apache-2.0
/// The talk with one client of the RAS port, without its socket: lines in, replies out.
///
/// The protocol is NCCL's, version 2 (NVIDIA/nccl, src/ras/client_support.cc): commands in lines, in any
/// case, of which STATUS and VERBOSE STATUS end the talk with a report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/survey/ras_events.h"
#include "src/survey/ras_report.h"

namespace weir::survey {

class RasSession {
 public:
  static constexpr size_t kLongestLine = 1024;

  /// What is to be answered at once to what the client has sent. After a request for a report nothing more is
  /// read.
  std::string take(std::string_view bytes);
  /// A line was too long: there is nothing to be said to that client any more.
  bool broken() const { return broken_; }
  bool wants_report() const { return wants_report_; }
  bool monitors() const { return events_ != 0; }
  /// How long processes may take for their answers.
  int64_t timeout_ms() const { return timeout_ms_; }

  std::string report(const Job& job, const RasVersions& versions) const;
  /// Of these, those that the client wants to know.
  std::string events(const std::vector<RasEvent>& events) const;

 private:
  std::string reply(std::string_view line);
  std::string set_timeout(std::string_view text);
  std::string set_format(std::string_view text);
  std::string monitor(std::string_view groups);

  std::string line_;  ///< what has come of the next one
  int64_t timeout_ms_ = 5000;
  unsigned events_ = 0;  ///< bits of RasEvent::Group
  bool json_ = false;
  bool verbose_ = false;
  bool wants_report_ = false;
  bool broken_ = false;
};

}  // namespace weir::survey
