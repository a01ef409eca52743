// SPDX-License-Identifier: Apache-2.0
/// How long calls take on the cluster that a job pretends to run on: the simulated times of the plans that
/// `weir plan` finds best there, by the assumptions of `weir sim`.
///
/// A plan is chosen per power of two and simulated for every size. The first rank that asks computes; those
/// of its process wait for it, and the other processes of the machine read what it found from the board.
///
/// Thread-safe.
/// Tests: tests/core/pretended_times_test.cc
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/ir/loaded_plan.h"
#include "algorithms/network/network.h"
#include "src/base/status.h"
#include "src/base/types.h"
#include "src/core/placement/pretended_cluster.h"
#include "topology/model/latencies.h"

namespace weir::core {

class HostBoard;

class PretendedTimes {
 public:
  /// `places`: the number of the device of each rank. Errors: those of network_of(), for ranks that cannot
  /// reach each other; they begin with the name of the option.
  static Result<std::unique_ptr<PretendedTimes>> make(std::shared_ptr<const PretendedCluster> cluster,
                                                      std::vector<int> places);

  /// Shares times with the other processes of the machine from now on; `board` outlives this object.
  void share(HostBoard& board) { board_ = &board; }

  /// Seconds of a collective with blocks of `bytes`; 0 for one rank or no bytes. `asked`: the plan to run;
  /// null: the best one. Errors: those of best_plan(), ranked_plans() and sim::simulate().
  Result<double> of_collective(Collective kind, Rank root, size_t bytes, const ir::LoadedPlan* asked);
  /// Seconds of a message, alone on the network: those of a broadcast between the two ranks.
  Result<double> of_message(Rank from, Rank to, size_t bytes);

 private:
  /// Some of the ranks, and the links between them.
  struct Part {
    algorithms::Network network;
    std::vector<char> between_hosts;
  };
  struct Planned {
    std::string name;
    ir::Plan plan;
  };
  /// What a time belongs to: root, and for messages the receiver, else -1.
  using Key = std::tuple<Collective, Rank, Rank, size_t, std::string>;

  PretendedTimes(std::shared_ptr<const PretendedCluster> cluster, std::vector<int> places)
      : cluster_(std::move(cluster)), places_(std::move(places)) {}

  Result<Part> part_of(std::span<const int> places) const;
  Result<double> shared(const Key& key, const std::function<Result<double>()>& make);
  Result<const Planned*> best(const Part& part, Collective kind, Rank root, Rank peer, double bytes);
  Result<double> simulated(const Part& part, const ir::Plan& plan, double bytes) const;

  const std::shared_ptr<const PretendedCluster> cluster_;
  const std::vector<int> places_;
  const topology::Latencies latencies_;
  HostBoard* board_ = nullptr;
  std::mutex mutex_;
  Part whole_;
  std::map<std::pair<Rank, Rank>, Part> pairs_;
  std::map<std::tuple<Collective, Rank, Rank, int>, Planned> plans_;
  std::map<Key, double> times_;
};

}  // namespace weir::core
