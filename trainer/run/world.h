// SPDX-License-Identifier: Apache-2.0
/// The ranks that train together: this process's rank, and the communicator of all ranks. Ranks may be lost
/// (regroup.cc), and processes may join (joining.cc).
/// Tests: tests/trainer/chaos_test.py, tests/trainer/elastic_test.py
#pragma once

#include <nccl.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "trainer/run/newcomer_listener.h"
#include "weir/config.h"

namespace weir::trainer {

/// Movable; used by one thread at a time.
class World {
 public:
  /// Takes rank and size from the launcher's variables (weir/launched.h), or is the only rank if there are
  /// none. Ranks meet at the address in NCCL_COMM_ID ("host:port" of the first rank), which `weir run` sets.
  /// Waits for all ranks. `order`: of the sums of this communicator and its children (weir/config.h). Errors:
  /// invalid_argument if the launcher's numbers or the address are invalid; those of the library.
  /// The last `spares` processes are no ranks, but as alone(). Waits for all ranks. `order`: of the sums of
  /// this communicator and its children (weir/config.h). Errors: invalid_argument if the launcher's numbers
  /// or the address are invalid; those of the library.
  static Result<World> join(int order = weirOrderUnset, int spares = 0);
  /// A world of one rank, of a process that is going to enter() that of a job.
  static Result<World> alone(int order = weirOrderUnset);
  World(World&& other) noexcept
      : comm_(std::exchange(other.comm_, nullptr)),
        rank_(other.rank_),
        ranks_(other.ranks_),
        is_outside_(other.is_outside_),
        target_(other.target_),
        newcomers_(other.newcomers_),
        order_(other.order_),
        options_(std::move(other.options_)),
        addresses_(std::move(other.addresses_)),
        listener_(std::move(other.listener_)) {}
  World& operator=(World&&) = delete;
  ~World();

  /// Whether this process has still to enter the world of its job.
  bool is_outside() const { return is_outside_; }
  /// Waits at the listeners of a job (newcomer.h) until this process is a rank of it; then this is the job's
  /// world. False: the run is done. Errors: those of wait_to_join().
  Result<bool> enter(const std::string& addresses, const std::string& options);
  /// From now on processes with these options may join, at NCCL_COMM_ID on the host of that address and at
  /// the same port on the others; without NCCL_COMM_ID none. Collective.
  Status listen_for_newcomers(const std::string& options);
  /// Addresses at which processes may join, separated by commas; empty: none may.
  const std::string& join_addresses() const { return addresses_; }
  /// Whether processes wait that may be taken. Of this rank: ranks may differ.
  bool has_newcomers() const;
  /// Takes processes that wait into the world: `fitting` says how many of a number. Returns what happened;
  /// empty: nothing. Collective. After an error the world is as it was, and has perhaps lost ranks.
  Result<std::string> admit(const std::function<int(int)>& fitting);
  /// How many ranks, the last ones, the last admit() has added.
  int newcomers() const { return newcomers_; }
  /// Whether this rank is one of them.
  bool is_newcomer() const { return rank_ >= ranks_ - newcomers_; }
  /// Goes on without the newcomers, with which the others cannot train. To be called by these others, in the
  /// place of regroup(). After an error the world is as it was.
  Result<std::string> expel_newcomers();

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
  World(ncclComm_t comm, int rank, int ranks, int order)
      : comm_(comm), rank_(rank), ranks_(ranks), order_(order) {}
  Status take(ncclComm_t other, bool failed);
  Status settle_listeners();
  Result<ncclUniqueId> id_to_grow() const;
  Status grow(int count, int own_count, int before);

  ncclComm_t comm_ = nullptr;
  int rank_ = 0;
  int ranks_ = 1;
  bool is_outside_ = false;
  int target_ = 0;  ///< ranks that the job has where there are enough processes; 0: all that join
  int newcomers_ = 0;
  int order_;
  std::string options_;                         ///< of newcomers; empty: nobody may join
  std::string addresses_;                       ///< addresses
  std::unique_ptr<NewcomerListener> listener_;  ///< on the first rank of each host
};

}  // namespace weir::trainer
