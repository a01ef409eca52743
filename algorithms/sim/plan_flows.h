// SPDX-License-Identifier: Apache-2.0
/// A plan as flows over a network: what every move waits for, and which way it goes.
///
/// The plan runs as its programs would (docs/architecture.md): once per pass, pass t on tile t of every
/// chunk.
/// * A lane does one thing after the other. It is done with a move that leaves when the message lies in a
///   slot of the channel, and with one that arrives when the value is there.
/// * A channel has `connections` on the route between its ranks, each with every so many-th message. They
///   take turns at the sender's link, so that many messages travel abreast, if no later link is narrower; in
///   a switch's queue messages follow each other as they came. A channel has `slots` messages under way at
///   most: a slot is free again when the receiver has taken the message and the sender has heard of it.
/// * A move waits for the values and the chunks of memory that it reads, and overwrites none that is still to
///   be read; it takes place as soon as all of that is so. Input and output lie apart.
/// * Work within a rank (sums, copies) takes no time.
///
/// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/sim/flow_routes.h"
#include "algorithms/sim/flows.h"
#include "weir/status.h"

namespace weir::sim {

/// What channels are like, apart from the edges that they use.
struct Channels {
  double hop_latency = 0;  ///< seconds, of each edge
  double alpha = 0;        ///< seconds that the sender spends on each message
  double slot_bytes = 0;   ///< the largest message; 0: moves are not cut
  int slots = 2;           ///< messages under way in a channel
  double pace = 0;         ///< GB/s of a channel; 0: any
  bool paced = false;      ///< channels also keep to their fair shares (paces.h)
  double window = 0;       ///< bytes in flight in a channel, besides the slots; 0: any
  double burst = 0;        ///< bytes that pass an edge at once after a rest (buckets.h)
  int connections = 1;     ///< of a channel
};

/// Chunks and what they are cut into, for a message size.
struct Tiling {
  double chunk_bytes = 0;
  double tile_bytes = 0;  ///< of one chunk
  int64_t passes = 0;

  /// What is left of a chunk for the last pass.
  double last_bytes() const { return chunk_bytes - static_cast<double>(passes - 1) * tile_bytes; }
};

/// `bytes`: of the largest buffer of a rank (the full gathered or reduced data, or what it sends to all).
Tiling tile(const ir::Plan& plan, double bytes, const Channels& channels);

/// The flows of so many passes (at most tiling.passes), the last one being the plan's last one. Routes are
/// asked in the order of the moves. REQUIRES: a plan that ir::verify accepts. Errors: invalid_argument for
/// another number of ranks than the network's, figures that are negative or not finite, fewer than one slot,
/// and ranks that no path joins.
struct PlanFlows {
  FlowSet flows;
  std::vector<FlowId> pass_ends;  ///< by pass: one after its last flow
};
Result<PlanFlows> plan_flows(const ir::Plan& plan, const Tiling& tiling, int64_t passes,
                             const Network& network, FlowRoutes& routes, const Channels& channels);

}  // namespace weir::sim
