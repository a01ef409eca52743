// SPDX-License-Identifier: Apache-2.0
/// Surveys the processes that use weir: those of this host, found in the local registry, and those of other
/// hosts that share communicators with them.
/// Tests: tests/cli/ps_test.cc, tests/api/ras_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/core/diagnosis/process_report.h"

namespace weir::survey {

/// A process that was asked.
struct QueriedProcess {
  int32_t pid = 0;
  std::string host;
  SocketAddress listener;
  std::optional<core::ProcessReport> report;
  bool dead = false;    ///< the process has ended
  std::string why_not;  ///< reason for a missing report: "is stopped", ...
};

struct SurveyRequest {
  /// This process's report, to survey its job; empty: start with the processes of this host.
  std::optional<core::ProcessReport> own;
  std::vector<int32_t> pids;                 ///< processes of this host to start with; empty: all
  core::ReportScope scope;                   ///< contents of the reports; always with members
  bool elsewhere = true;                     ///< include processes of other hosts
  int64_t timeout_ms = 1000;                 ///< time limit for answers of each 256 processes
  const std::atomic<bool>* abort = nullptr;  ///< ends the survey early; may be null
};

/// Asks the first processes, then those that share a communicator with them, and so on. Each step takes at
/// most SurveyRequest::timeout_ms for each 256 processes.
std::vector<QueriedProcess> take(const SurveyRequest& request);

/// A communicator with the reports of all its ranks.
struct CommunicatorView {
  struct Member {
    std::optional<core::CommunicatorReport> report;
    std::string host;
    std::string program;
    int32_t pid = 0;
    std::string why_not;  ///< reason for a missing report
  };
  std::string id;
  std::string name;
  std::vector<Member> members;  ///< members by rank
};

/// The communicators of all reports, sorted by id.
std::vector<CommunicatorView> by_communicator(const std::vector<QueriedProcess>& asked);

}  // namespace weir::survey
