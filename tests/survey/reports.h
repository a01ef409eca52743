// SPDX-License-Identifier: Apache-2.0
/// Reports of processes that there are not, for tests of what is made of them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/survey/job.h"

namespace weir::testing {

/// Of the communicator in question.
inline const std::string kId = "00000000000000aa";

/// One rank in each process, at the address 10.0.0.<node>.
inline survey::QueriedProcess process_of(int node, int32_t pid) {
  survey::QueriedProcess out;
  out.pid = pid;
  out.host = fmt::format("node{}", node);
  out.listener = *SocketAddress::parse(fmt::format("10.0.0.{}:4000", node));
  out.report.emplace();
  out.report->hostname = out.host;
  out.report->pid = pid;
  return out;
}

inline survey::QueriedProcess without_answer(survey::QueriedProcess process, bool dead) {
  process.report.reset();
  process.dead = dead;
  process.why_not = dead ? "is dead" : "is stopped";
  return process;
}

/// Makes these processes the ranks of a communicator, each with as many all-reduces as `sums` says.
inline void join(std::vector<survey::QueriedProcess>& processes, const std::string& id,
                 const std::vector<uint64_t>& sums) {
  std::vector<core::PeerAddress> members;
  for (const survey::QueriedProcess& one : processes)
    members.push_back({one.listener, 0, one.pid, one.host, {}});
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    core::CommunicatorReport& report = processes[rank].report->communicators.emplace_back();
    report.id = id;
    report.ranks = static_cast<int>(processes.size());
    report.rank = static_cast<Rank>(rank);
    report.device = "host memory";
    report.members = members;
    report.counts[static_cast<size_t>(Collective::all_reduce)].begun = sums[rank];
  }
}

}  // namespace weir::testing
