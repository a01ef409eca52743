// SPDX-License-Identifier: Apache-2.0
/// Ranks as processes, for tests of the library through its C interface.
#pragma once

#include <nccl.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace weir::testing {

/// What one rank's body can use.
class Rank {
 public:
  Rank(int rank, int ranks, void* shared) : rank_(rank), ranks_(ranks), shared_(shared) {}

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// The id that rank 0 makes; waits until it is there.
  ncclUniqueId id() const;
  /// A communicator of all ranks. Ends the process when that fails.
  ncclComm_t connect(ncclConfig_t* config = nullptr) const;
  /// Tells the test that the rank has come so far, and waits for others to come as far.
  void reach(int point) const;
  void wait_until_reached(int rank, int point) const;
  pid_t pid_of(int rank) const;

 private:
  int rank_;
  int ranks_;
  void* shared_;
};

/// How a rank's process ended: exit code, or -signal.
struct Ending {
  int code = 0;
  double seconds = 0;  ///< after the start
  std::string output;  ///< what it wrote to standard error
};

/// Runs the body in one process per rank; a failed expectation in it makes the exit code 1. Processes that
/// still run after `limit_s` are killed (code -9). Stopped processes are killed once all others have ended.
std::vector<Ending> run_ranks(int ranks, const std::function<void(const Rank&)>& body, double limit_s = 60);

/// All ended with 0. Prints what the others wrote.
bool all_well(const std::vector<Ending>& endings);

/// ncclSuccess, or a failed expectation with the library's sentence.
void expect_success(ncclResult_t result, const char* what);

}  // namespace weir::testing
