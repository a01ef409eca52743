// SPDX-License-Identifier: Apache-2.0
/// The cost of a plan in a given environment: a few figures, from which the time for any size takes a few
/// multiplications. There is no formula per algorithm: the figures are computed from the plan.
///
/// Two clocks follow the moves in list order, lane by lane as a program would run them (latencies on one,
/// seconds per byte on the other), twice, because the second pass shows how much it overlaps the first. In
/// addition the work is summed up for each rank, for the cores that ranks share, for the border of each group
/// of ranks, and for each link of a known network: no pass can take less time than the most loaded of them
/// needs. If ranks share m cores, a plan's longest chain is delayed by the work of others, which occupies the
/// cores meanwhile: m cores that are never idle while there is work need at most the work / m plus (1 - 1/m)
/// of the chain (Graham, Bounds on multiprocessing timing anomalies, 1969). Latencies are predicted like
/// that; bytes are not, because with many of them all ranks have work all the time.
///
/// A message costs its sender half of overhead + beta * bytes, its receiver the same, and arrives alpha +
/// beta * bytes after it was begun. A pull is work of the reader alone, between two messages without bytes:
/// the permission and the completion. Not modelled: slots that run out, caches.
///
/// Rates between hosts are one figure for all pairs, that of the slowest. If links are known, they determine
/// the link's part of it: the rest, the work of the ends, is added to every pair's own link time.
///
/// Pure.
/// Tests: tests/algorithms/cost_test.cc
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "algorithms/cost/network_links.h"
#include "algorithms/cost/rates.h"
#include "algorithms/ir/plan.h"

namespace weir::cost {

/// Groups of ranks with a bottleneck around them: hosts with their NICs, leaves with uplinks.
struct Border {
  std::vector<int> group_of;  ///< index: position
  double beta = 0;            ///< seconds per byte into a group, and out of it; 0: as between hosts
};

/// The environment of ranks, in the order of their positions (algorithms/catalogue/layout.h).
struct Environment {
  std::vector<int> host_of;     ///< index: position; rates inside a host apply to ranks of one host
  std::vector<int> machine_of;  ///< index: position; the machine whose cores it shares
  std::vector<int> cores;       ///< index: machine; number of cores
  std::vector<Border> borders;
  std::shared_ptr<const NetworkLinks> links;  ///< links between positions on different hosts; null: unknown
  algorithms::Layout layout;                  ///< the layout of these positions
  Rates rates;
  size_t slot_bytes = 0;     ///< maximum size of a message
  size_t scratch_bytes = 0;  ///< bytes that ranks of an island can read of each other; 0: no plan may pull

  int ranks() const { return static_cast<int>(host_of.size()); }
};

/// `places` consecutive positions on hosts of `per_host` ranks; each host is a machine.
Environment regular(int places, int per_host, int cores_per_host, const Rates& rates);

/// Figures of one pass: seconds that do not depend on size, and seconds per byte of a chunk.
struct Pass {
  double seconds = 0;
  double per_byte = 0;

  bool operator==(const Pass&) const = default;
};

struct Profile {
  Pass first;             ///< the first pass
  Pass further;           ///< each further pass
  Pass load;              ///< work of the most loaded rank, cores, border or link in each of them
  double shared = 0;      ///< fraction of the chain's seconds that is added to the load; 0: one core per rank
  double chunks = 1;      ///< number of chunks of a block
  double tile_bytes = 0;  ///< maximum bytes of a chunk in a pass
  double busiest = 0;     ///< seconds per byte of a chunk on the most loaded link or border
  double across = 0;      ///< seconds per byte of a chunk on all links and borders together
  double merging = 0;     ///< relative slowdown per byte if several ranks send to one
  double unasked = 0;     ///< bytes of a chunk in a pass to which that does not apply

  bool operator==(const Profile&) const = default;
};

/// REQUIRES: a plan that ir::verify accepts, over as many ranks as there are positions.
Profile profile_of(const ir::Plan& plan, const Environment& environment);

/// Seconds for blocks of `bytes`, in passes of at most 1/`divisor` of profile.tile_bytes.
double predict(const Profile& profile, double bytes, int divisor = 1);

}  // namespace weir::cost
