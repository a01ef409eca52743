// SPDX-License-Identifier: Apache-2.0
/// A job as NCCL's RAS sees it: the processes that share communicators, and the communicators in groups of
/// similar ones. A plain value.
/// Tests: tests/survey/job_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/types.h"
#include "src/survey/survey.h"

namespace weir::survey {

struct JobProcess {
  enum class State : uint8_t { answers, silent, dead };

  std::string node;  ///< IP address of its listener, or the name of the host
  std::string host;
  int32_t pid = 0;
  State state = State::answers;
  std::string version;    ///< of weir; empty: not known
  std::vector<int> gpus;  ///< numbers of its GPUs, sorted, each once
};

/// The state of a rank's communicator. If ranks differ, the communicator's is the largest of this
/// enumeration.
enum class CommState : uint8_t {
  no_communicator,  ///< its process answers, but does not have the communicator (any more)
  init,
  running,
  finalize,  ///< a state of NCCL that weir's ranks never report
  abort,
};
/// NCCL's name of the state: "RUNNING".
std::string_view name(CommState standing);

struct JobRank {
  Rank rank = 0;
  size_t process = 0;  ///< index into Job::processes
  int gpu = -1;        ///< number of its GPU; -1: host memory, or unknown
  CommState standing = CommState::running;
  Code code = Code::success;                    ///< code of its failure
  std::string sentence;                         ///< message of its failure
  std::array<uint64_t, kCollectives> counts{};  ///< number of operations begun
  std::vector<Rank> waiting_for;
  double waiting_s = 0;
  std::string operation;  ///< operation begun last
};

struct JobCommunicator {
  std::string id;  ///< CommunicatorReport::id
  std::string name;
  std::vector<JobRank> ranks;    ///< ranks that sent a report
  std::vector<JobRank> missing;  ///< all other ranks
  int size = 0;
  int nodes = 0;
  int least_per_node = 0;
  int most_per_node = 0;
  CommState standing = CommState::running;  ///< largest CommState of its ranks
  size_t silent = 0;                        ///< number of missing ranks whose processes do not answer
  bool incomplete = false;                  ///< true: `silent` is not 0
  bool error = false;                       ///< true: ranks have failed
  bool mismatch = false;  ///< true: ranks differ in their standings, or in the operations begun

  /// Whether ranks have begun different numbers of operations of `kind`.
  bool differs_in(Collective kind) const;
};

/// Communicators that a report shows in one line.
struct JobGroup {
  size_t first = 0;  ///< index of its first communicator in Job::communicators
  size_t count = 0;
  int ranks = 0;  ///< number of devices that take part, each counted once
};

/// A rank that is still waiting for the other ranks of a communicator.
struct JobJoining {
  size_t process = 0;
  Rank rank = 0;
  int ranks = 0;
  double since_s = 0;
};

struct Job {
  std::vector<JobProcess> processes;           ///< processes, sorted by node and pid
  std::vector<JobCommunicator> communicators;  ///< sorted by group, the largest first
  std::vector<JobGroup> groups;
  std::vector<JobJoining> joining;
  double seconds = 0;  ///< duration of the survey
};

/// Makes a job of the processes' reports. `seconds`: Job::seconds.
Job job_of(const std::vector<QueriedProcess>& asked, double seconds);

}  // namespace weir::survey
