// SPDX-License-Identifier: Apache-2.0
/// The ranks that train together: this process's rank, and the communicator of all ranks.
#pragma once

#include <nccl.h>

#include <string>
#include <utility>

#include "src/base/status.h"
#include "weir/config.h"

namespace weir::trainer {

/// Movable; used by one thread at a time.
class World {
 public:
  /// Takes rank and size from the launcher's variables (weir/launched.h), or is the only rank if there are
  /// none. Ranks meet at the address in NCCL_COMM_ID ("host:port" of the first rank), which `weir run` sets.
  /// Waits for all ranks. `order`: of the sums of this communicator and its children (weir/config.h). Errors:
  /// invalid_argument if the launcher's numbers or the address are invalid; those of the library.
  static Result<World> join(int order = weirOrderUnset);
  World(World&& other) noexcept
      : comm_(std::exchange(other.comm_, nullptr)), rank_(other.rank_), ranks_(other.ranks_) {}
  World& operator=(World&&) = delete;
  ~World();

  /// To be called after `failure` of a collective: waits until some ranks are found dead or silent, and
  /// continues with the others, which do the same; `comm`, `rank` and `ranks` are new afterwards. Returns a
  /// description of the lost ranks. Errors: `failure` itself if no rank is lost; another one if the remaining
  /// reachable ranks are no majority.
  Result<std::string> regroup(const Status& failure);

  ncclComm_t comm() const { return comm_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// The order in which ranks sum: "run", "any" or "ranks".
  Result<std::string> order_of_sums() const;

 private:
  World(ncclComm_t comm, int rank, int ranks) : comm_(comm), rank_(rank), ranks_(ranks) {}
  Status take(ncclComm_t smaller);

  ncclComm_t comm_ = nullptr;
  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace weir::trainer
