/// What the processes that use weir are doing: those of this host, found by their signs, and those of other
/// hosts that share a communicator with them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/core/process_report.h"

namespace weir::cli {

/// A process that was asked.
struct Asked {
  int32_t pid = 0;
  std::string host;
  SocketAddress door;
  std::optional<core::ProcessReport> report;
  std::string why_not;  ///< it gave none: "is stopped", ...
};

struct SurveyRequest {
  std::vector<int32_t> pids;  ///< of this host; empty: all
  core::ReportScope scope;    ///< members are always asked for
  bool elsewhere = true;      ///< also processes of other hosts
  int64_t patience_ms = 1000;
};

/// Asks all. Takes at most twice the patience for each 256 processes.
std::vector<Asked> survey(const SurveyRequest& request);

/// A communicator as its ranks see it together.
struct Gathered {
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
std::vector<Gathered> gather(const std::vector<Asked>& asked);

}  // namespace weir::cli
