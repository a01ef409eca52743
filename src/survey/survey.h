// SPDX-License-Identifier: Apache-2.0
/// What the processes that use weir are doing: those of this host, found in the local registry, and those of
/// other hosts that share communicators with them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/core/diagnosis/process_report.h"

namespace weir::survey {

/// A process that was asked.
struct Asked {
  int32_t pid = 0;
  std::string host;
  SocketAddress listener;
  std::optional<core::ProcessReport> report;
  bool dead = false;    ///< there is no such process any more
  std::string why_not;  ///< it gave none: "is stopped", ...
};

struct Request {
  /// To begin with this process, and not with those of this host: the job that it belongs to.
  std::optional<core::ProcessReport> own;
  std::vector<int32_t> pids;  ///< to begin with, of this host; empty: all
  core::ReportScope scope;    ///< members are always asked for
  bool elsewhere = true;      ///< also processes of other hosts
  int64_t patience_ms = 1000;
  const std::atomic<bool>* abort = nullptr;  ///< ends it early
};

/// Asks all, then those that share a communicator with them, and so on. Each such step takes at most the
/// patience for each 256 processes.
std::vector<Asked> take(const Request& request);

/// A communicator as its ranks see it together.
struct CommunicatorView {
  struct Member {
    std::optional<core::CommunicatorReport> report;
    std::string host;
    std::string program;
    int32_t pid = 0;
    std::string why_not;  ///< there is no report
  };
  std::string id;
  std::string name;
  std::vector<Member> members;  ///< by rank
};

/// By id.
std::vector<CommunicatorView> by_communicator(const std::vector<Asked>& asked);

}  // namespace weir::survey
