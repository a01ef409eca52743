// SPDX-License-Identifier: Apache-2.0
/// The ranks that train together: which one this process is, and the communicator of all.
#pragma once

#include <nccl.h>

#include <string>
#include <utility>

#include "weir/status.h"

namespace weir::trainer {

/// Movable; used by one thread at a time.
class World {
 public:
  /// What the launcher says (weir/launched.h), alone where there is none. Ranks meet at the address in
  /// NCCL_COMM_ID ("host:port" of the first rank), which `weir run` sets. Waits for all of them. Errors:
  /// invalid_argument where the launcher's numbers or the address make no sense; those of the library.
  static Result<World> join();
  World(World&& other) noexcept
      : comm_(std::exchange(other.comm_, nullptr)), rank_(other.rank_), ranks_(other.ranks_) {}
  World& operator=(World&&) = delete;
  ~World();

  /// After `failure` of a collective: waits until some ranks are found dead or silent, and goes on with the
  /// others, which do the same; `comm`, `rank` and `ranks` are new then. Returns who is gone, in words.
  /// Errors: `failure` itself where nobody is gone; that of a world of which no majority is left that can be
  /// reached.
  Result<std::string> regroup(const Status& failure);

  ncclComm_t comm() const { return comm_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

 private:
  World(ncclComm_t comm, int rank, int ranks) : comm_(comm), rank_(rank), ranks_(ranks) {}
  Status take(ncclComm_t smaller);

  ncclComm_t comm_ = nullptr;
  int rank_ = 0;
  int ranks_ = 1;
};

/// Replaces this process by `weir run`, found beside the program, which starts it again as `ranks` processes
/// with the same arguments. `regroups`: ranks that die do not end the others. Returns only where that is
/// impossible, with the reason.
Status launch(int ranks, bool regroups, char** arguments);

}  // namespace weir::trainer
