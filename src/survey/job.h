// SPDX-License-Identifier: Apache-2.0
/// A job as NCCL's RAS sees it: the processes that share communicators, and the communicators in groups of
/// alike ones. A plain value.
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
  std::vector<int> gpus;  ///< sorted, each once
};

/// How far a rank is with its communicator. Where ranks differ, the last one counts for all.
enum class Standing : uint8_t {
  no_communicator,  ///< its process answers, but does not have it (any more)
  init,
  running,
  finalize,  ///< NCCL's word: weir's ranks have left by then
  abort,
};
/// "RUNNING", in NCCL's words.
std::string_view name(Standing standing);

struct JobRank {
  Rank rank = 0;
  size_t process = 0;  ///< in Job::processes
  int gpu = -1;        ///< -1: host memory, or nobody knows
  Standing standing = Standing::running;
  Code code = Code::success;                    ///< of a failure
  std::string sentence;                         ///< likewise
  std::array<uint64_t, kCollectives> counts{};  ///< operations begun
  std::vector<Rank> waiting_for;
  double waiting_s = 0;
  std::string operation;  ///< the last that it has begun
};

struct JobCommunicator {
  std::string id;  ///< 16 digits
  std::string name;
  std::vector<JobRank> ranks;    ///< those that told of themselves
  std::vector<JobRank> missing;  ///< the others
  int size = 0;
  int nodes = 0;
  int least_per_node = 0;
  int most_per_node = 0;
  Standing standing = Standing::running;  ///< the last of all
  size_t silent = 0;                      ///< of the missing: their processes give no answer
  bool incomplete = false;                ///< there are such
  bool error = false;                     ///< ranks have failed
  bool mismatch = false;  ///< ranks differ in their standings, or in the operations that they have begun

  /// Whether ranks have begun different numbers of these.
  bool differs_in(Collective kind) const;
};

/// Communicators that a report shows in one line.
struct JobGroup {
  size_t first = 0;  ///< in Job::communicators
  size_t count = 0;
  int ranks = 0;  ///< devices that take part, each once
};

/// Ranks that have looked in vain for the others of a communicator so far.
struct JobJoining {
  size_t process = 0;
  Rank rank = 0;
  int ranks = 0;
  double since_s = 0;
};

struct Job {
  std::vector<JobProcess> processes;           ///< by node and pid
  std::vector<JobCommunicator> communicators;  ///< in the order of their groups, the largest first
  std::vector<JobGroup> groups;
  std::vector<JobJoining> joining;
  double seconds = 0;  ///< that gathering took
};

/// `seconds`: as in Job.
Job job_of(const std::vector<Asked>& asked, double seconds);

}  // namespace weir::survey
