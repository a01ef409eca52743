// SPDX-License-Identifier: Apache-2.0
/// What a plan costs in a given environment: a few figures, from which the time for any size is a few
/// multiplications. No formula is typed in per algorithm: the plan is the formula.
///
/// Two clocks go through the moves in list order, lane by lane as a program would run them (latencies on one,
/// seconds per byte on the other), twice, because the second pass shows what of it overlaps with the first.
/// Beside them the work is added up that has to be done by a rank, by the cores that ranks share,
/// across the border of a group of ranks, and by each link of a network that is known: less than the most
/// loaded of them needs, no pass can take. Where ranks share m cores, a plan's longest chain comes late by
/// the work of others, which has the cores meanwhile: m cores that are never idle while there is work need at
/// most the work / m and (1 - 1/m) of the chain (Graham, Bounds on multiprocessing timing anomalies, 1969).
/// Latencies are predicted as that; bytes are not, because with many of them all ranks have work all the
/// time.
///
/// A message costs its sender half of overhead + beta * bytes, its receiver the same, and is there alpha +
/// beta * bytes after it was begun. A pull is work of the reader alone, between two messages without bytes:
/// that it may, and that it has. Not in the model: that slots run out, caches.
///
/// Rates between hosts are one figure for all, that of the slowest pair. Where links are known they say how
/// much of it is the link's: what is left, the work of the ends, is charged to every pair on top of its own.
///
/// Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "algorithms/cost/network_links.h"
#include "algorithms/cost/rates.h"
#include "algorithms/ir/plan.h"

namespace weir::cost {

/// Groups of ranks with something narrow around them: hosts with their network adapters, leaves with uplinks.
struct Border {
  std::vector<int> group_of;  ///< by place
  double beta = 0;            ///< seconds per byte into a group, and out of it; 0: as between hosts
};

/// Where ranks are, in the order of their places (algorithms/catalogue/layout.h).
struct Environment {
  std::vector<int> host_of;     ///< by place; ranks of one host are inside
  std::vector<int> machine_of;  ///< by place; whose cores they share
  std::vector<int> cores;       ///< by machine
  std::vector<Border> borders;
  std::shared_ptr<const NetworkLinks> links;  ///< between places, each on a host of its own; null: not known
  algorithms::Layout layout;                  ///< whose places these are
  Rates rates;
  size_t slot_bytes = 0;     ///< most bytes of a message
  size_t scratch_bytes = 0;  ///< that ranks of an island can read of each other; 0: no plan may pull

  int ranks() const { return static_cast<int>(host_of.size()); }
};

/// So many places, one after the other, on hosts of `per_host` ranks; each host is a machine.
Environment regular(int places, int per_host, int cores_per_host, const Rates& rates);

/// Of one pass: the part that does not depend on size, and seconds per byte of a chunk.
struct Pass {
  double seconds = 0;
  double per_byte = 0;

  bool operator==(const Pass&) const = default;
};

struct Profile {
  Pass first;             ///< the pass that nothing goes before
  Pass further;           ///< each one after it
  Pass load;              ///< the work of the most loaded rank, cores, border or link in each of them
  double shared = 0;      ///< of the chain's seconds, what comes on top of the load; 0: a core for each rank
  double chunks = 1;      ///< of a block
  double tile_bytes = 0;  ///< most bytes of a chunk in a pass
  double busiest = 0;     ///< seconds per byte of a chunk of the most loaded link or border
  double across = 0;      ///< seconds per byte of a chunk of all links and borders together
  double merging = 0;     ///< what comes on top of each second for bytes, as several ranks send to one
  double unasked = 0;     ///< bytes of a chunk in a pass for which it does not

  bool operator==(const Profile&) const = default;
};

/// REQUIRES: a plan that ir::verify accepts, over as many ranks as there are places.
Profile profile_of(const ir::Plan& plan, const Environment& environment);

/// Seconds for blocks of `bytes`, in passes of at most the `divisor`-th part of profile.tile_bytes.
double predict(const Profile& profile, double bytes, int divisor = 1);

}  // namespace weir::cost
