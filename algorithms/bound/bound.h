// SPDX-License-Identifier: Apache-2.0
/// Lower bounds on the time of any schedule of a collective, with proofs.
///
/// A bound is exact and has a witness: sets of nodes and the data that must cross their borders.
/// check_bound() recomputes the bound from the witness alone.
///
/// M is the total size: of the gathered or reduced buffer, of the message of a broadcast, of what one rank
/// sends in an all-to-all. Where a collective divides it among ranks, all have equal shares. Latencies are
/// ignored.
/// Tests: tests/algorithms/bound_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"
#include "src/base/status.h"
#include "src/base/types.h"
#include "topology/model/graph.h"

namespace weir::algorithms {

/// The kind of proof.
enum class Witness : uint8_t {
  nothing,  ///< one rank alone needs no time
  into,     ///< data that must enter one set
  out_of,   ///< data that must leave one set
  between   ///< data that must enter several sets with disjoint ranks, together
};

struct Bound {
  Collective collective = Collective::all_gather;
  Rank root = 0;  ///< root rank, for rooted collectives only
  /// T / M, times one unit of capacity: seconds per byte if a unit were one byte per second.
  Ratio time;
  Witness witness = Witness::nothing;
  std::vector<std::vector<int32_t>> sets;  ///< nodes of each set, ascending

  /// M / T in units of capacity. REQUIRES: at least two ranks.
  Ratio bandwidth() const { return time.inverse(); }
};

/// The best bound that this library can compute:
///
///   - all_gather, reduce_scatter, broadcast, reduce, gather, scatter: the narrowest cut, exactly. Trees
///     reach it if switches have equal capacities in and out.
///   - all_reduce: the narrowest cut, exactly; and the narrowest partition, exactly up to kExactPartition
///     ranks, else among natural groups (groups.h). Without partitions if switches reduce.
///   - all_to_all: the narrowest of the cuts that limit the others, of natural groups, and of sets that grow
///     from single nodes (grown_sets.h).
///
/// Switches that copy or reduce (Network::multicast) do not weaken any of the cuts.
///
/// Time: about one max-flow if ranks are in hierarchies of switches; ranks times a max-flow at worst. Errors:
/// invalid_argument for an invalid network (check()), for ranks that cannot reach each other, an invalid
/// root, or a collective that does not involve all ranks (send_recv).
Result<Bound> lower_bound(const Network& network, Collective collective, Rank root = 0);

inline constexpr int kExactPartition = 128;

/// Success if the witness proves the time; else the reason why not. Uses neither flows nor searches: it sums
/// the capacities of the edges that cross borders. Time: linear, times the number of sets that contain a
/// switch.
Status check_bound(const Network& network, const Bound& bound);

/// The bottleneck as a sentence: "the 5 xGMI links into package 2 are the bottleneck: 3/4 of all bytes must
/// pass through 250 GB/s". `graph` is the source of the network. REQUIRES: check_bound().
std::string explain(const Bound& bound, const Network& network, const topology::Graph& graph);

/// The same bound with a witness for people: where the border of a cut runs through a device, between a NIC
/// and its port, and could as well run behind it, it does. REQUIRES: check_bound(), which accepts the result
/// too.
Bound outside_devices(const Bound& bound, const Network& network, const topology::Graph& graph);

}  // namespace weir::algorithms
