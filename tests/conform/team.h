// SPDX-License-Identifier: Apache-2.0
/// Sets of ranks: threads of this process, or processes that run the same test of the same program again.
#pragma once

#include <gtest/gtest.h>
#include <nccl.h>

#include <functional>
#include <string>
#include <vector>

namespace weir::conform {

/// How a test's ranks live: of `mixed` ones, which are processes, every other one has no GPU, and runs the
/// same test on host memory (in the program conform_host beside it).
enum class Way { threads, processes, mixed };

struct Team {
  int ranks = 2;
  Way way = Way::threads;
};
std::string name_of(const Team& team);
inline void PrintTo(const Team& team, std::ostream* out) { *out << name_of(team); }

/// Mixed teams, where this program has GPUs; without any, a rank of such a team has to know them.
std::vector<Team> mixed_teams();

/// What the library says of a call that was to succeed; empty: nothing, it did.
inline std::string failure(ncclResult_t result) {
  if (result == ncclSuccess) return "";
  return std::string(ncclGetErrorString(result)) + ": " + ncclGetLastError(nullptr);
}

/// Calls act(rank, id) for each rank, on a thread or in a process of its own; GPUs are chosen in turn before.
/// A failure of a process is one of the test.
void on_ranks(const Team& team, const std::function<void(int rank, const ncclUniqueId& id)>& act);
/// The same between the making and the destroying of the rank's communicator.
void with_comms(const Team& team, const std::function<void(ncclComm_t comm, int rank)>& act);

}  // namespace weir::conform
