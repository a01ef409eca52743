// SPDX-License-Identifier: Apache-2.0
/// Surveys the processes that use weir: those of this host, found in the local registry, and those of other
/// hosts that share communicators with them.
///
/// Other users may register and report what they like. What they say is therefore kept apart by user, and
/// what one of them lets the survey know is used for the processes that this user has named only.
/// Tests: tests/cli/ps_test.cc, tests/api/ras_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/core/diagnosis/process_report.h"
#include "src/net/listener/listener.h"

namespace weir::survey {

/// Whether a process shows its reports to this one (WEIR_REPORTS); that it does not is no failure.
enum class ReportState : uint8_t {
  shown,
  off,              ///< to nobody
  for_its_user,     ///< not to other users than its own
  for_its_jobs,     ///< not to processes of other hosts that know the secret of none of its jobs
  under_false_name  ///< it is not asked: its entry in the registry has the number of another process
};

/// A process that was asked.
struct QueriedProcess {
  int32_t pid = 0;
  std::string host;
  /// The user who has registered it, or the one that has led to it; nullopt: the user of this process.
  std::optional<uint32_t> user;
  SocketAddress listener;
  std::optional<core::ProcessReport> report;
  bool dead = false;  ///< the process has ended
  ReportState report_state = ReportState::shown;
  std::string why_not;  ///< reason for a missing report: "is stopped", ...
};

struct SurveyRequest {
  /// This process's report, to survey its job; empty: start with the processes of this host.
  std::optional<core::ProcessReport> own;
  std::vector<ReportAccess> own_access;      ///< what opens the reports of the other processes of its jobs
  std::vector<int32_t> pids;                 ///< processes of this host to start with; empty: all
  core::ReportScope scope;                   ///< contents of the reports; always with members
  bool elsewhere = true;                     ///< include processes of other hosts
  int64_t timeout_ms = 1000;                 ///< time limit for answers of each 256 processes
  const std::atomic<bool>* abort = nullptr;  ///< ends the survey early; may be null
};

/// Asks the first processes, then those that share a communicator with them, and so on. Each step takes at
/// most SurveyRequest::timeout_ms for each 256 processes; all processes of this host of one other user take
/// that long together, and those of all other users 16 times as long. The processes of the own user come
/// first. What reports of other users name is followed for two steps, and their answers are bounded.
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
  std::optional<uint32_t> user;  ///< QueriedProcess::user of its processes
  std::vector<Member> members;   ///< members by rank
};

/// The communicators of all reports, sorted by user, the own one first, and id.
std::vector<CommunicatorView> by_communicator(const std::vector<QueriedProcess>& asked);

}  // namespace weir::survey
