// SPDX-License-Identifier: Apache-2.0
/// Times that no schedule of a collective can beat, with the reason.
///
/// A bound is exact and carries its witness: sets of nodes and what has to cross their border. Whoever doubts
/// it recomputes it from the witness alone (check_bound()).
///
/// M is the size of the whole: of the gathered or reduced buffer, of the message of a broadcast, of what
/// one rank sends in an all-to-all. All ranks hold equal shares of it where shares are asked for. Latencies
/// do not count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"
#include "src/base/types.h"
#include "topology/model/graph.h"
#include "weir/status.h"

namespace weir::algorithms {

/// What the witness shows.
enum class Witness : uint8_t {
  nothing,  ///< one rank alone needs no time
  into,     ///< what has to enter one set
  out_of,   ///< what has to leave one set
  between   ///< what has to enter sets with ranks that are all different, together
};

struct Bound {
  Collective collective = Collective::all_gather;
  Rank root = 0;  ///< of collectives that have one
  /// T / M, times one unit of capacity: seconds per byte if a unit were a byte per second.
  Ratio time;
  Witness witness = Witness::nothing;
  std::vector<std::vector<int32_t>> sets;  ///< nodes, ascending

  /// M / T in units of capacity. REQUIRES: there are several ranks.
  Ratio bandwidth() const { return time.inverse(); }
};

/// The best bound we know how to find:
///
///   all_gather, reduce_scatter, broadcast, reduce, gather, scatter: the narrowest cut, exactly. Trees reach
///   it where switches let as much out as in.
///   all_reduce: the narrowest cut, exactly; and the narrowest partition, exactly up to kExactPartition
///   ranks, else among those people would name. Not where switches reduce: then the cut alone. all_to_all:
///   the narrowest of the cuts that limit the others and of those people would name.
///
/// Switches that copy or reduce (Network::multicast) do not help against any of the cuts.
///
/// Time: about that of one max-flow where ranks hang in hierarchies of switches; max-flow times ranks at
/// worst. Errors: invalid_argument for a network that is none (check()), for ranks that cannot reach each
/// other, a root that is no rank, or a collective without a meaning for all ranks (send_recv).
Result<Bound> lower_bound(const Network& network, Collective collective, Rank root = 0);

inline constexpr int kExactPartition = 128;

/// Success if the witness proves the time; else what is wrong with it. Uses neither flows nor searches: sums
/// the capacities of the edges that cross. Time: linear, times the sets a switch is in.
Status check_bound(const Network& network, const Bound& bound);

/// What limits, for people: "the 5 xGMI links into package 2 limit it: 3/4 of all bytes have to
/// pass 250 GB/s". `graph` is what the network was made from. REQUIRES: check_bound().
std::string explain(const Bound& bound, const Network& network, const topology::Graph& graph);

}  // namespace weir::algorithms
