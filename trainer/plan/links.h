// SPDX-License-Identifier: Apache-2.0
/// The links between the ranks of a cluster: the library's topology, and the times of collectives on it as
/// the library's simulator gives them.
///
/// A rank is a GPU, or a host where the topology has no GPUs; rank r is device r of the topology.
/// One thread at a time: what was simulated is kept for the next call.
/// Tests: tests/trainer/plan_links_test.cc
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "weir/bound.h"
#include "weir/topology.h"

namespace weir::trainer::plan {

/// Disjoint groups of equal size that fill the ranks: `stride` groups begin at consecutive ranks, and the
/// members of each are `stride` ranks apart; then the next `stride` groups follow.
struct RankGroups {
  int ranks = 1;
  int stride = 1;
};

class Links {
 public:
  /// `sources`: files of `weir topo` or `weir measure`, or a machine in a line (docs/topology.md).
  /// `latencies`: as for `weir sim --latency`. invalid_argument for a topology that the library refuses, and
  /// for hosts with different numbers of devices.
  static Result<std::shared_ptr<Links>> read(const std::vector<std::string>& sources, std::string latencies);

  int hosts() const { return hosts_; }
  int ranks_per_host() const { return ranks_per_host_; }

  /// Seconds of an all-reduce, all-gather or reduce-scatter of `bytes` in all groups of the first `hosts`
  /// hosts at once, as rings (weir/simulate.h). Two sizes are simulated, a very small and a large one; others
  /// are on the straight line through these, which is exact where one kind of hop is slower than all others
  /// for any size, and otherwise at least the simulated time. 0 for groups of one rank. REQUIRES: groups that
  /// fill these ranks. invalid_argument if there are fewer hosts, or if the library refuses.
  Result<double> seconds(Collective collective, int hosts, const RankGroups& groups, double bytes);
  /// The time that no plan of a collective over the first `ranks` ranks can beat.
  Result<Bound> bound(Collective collective, int ranks) const;

 private:
  Links(Topology topology, std::string latencies, int hosts, int ranks_per_host)
      : topology_(std::move(topology)),
        latencies_(std::move(latencies)),
        hosts_(hosts),
        ranks_per_host_(ranks_per_host) {}

  Topology topology_;
  std::string latencies_;
  int hosts_;
  int ranks_per_host_;
  /// Seconds of one pass around the rings: an all-gather.
  struct Pass {
    double latency = 0;
    double per_byte = 0;
  };
  Result<Pass> simulate(int hosts, const RankGroups& groups) const;
  std::map<std::tuple<int, int, int>, Pass> known_;  ///< index: hosts, ranks and stride of groups
};

}  // namespace weir::trainer::plan
