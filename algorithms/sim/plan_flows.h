// SPDX-License-Identifier: Apache-2.0
/// Converts a plan into flows over a network: what every move waits for, and its path.
///
/// The plan runs as its programs would (docs/architecture.md): once per pass, pass t on tile t of every
/// chunk.
/// * A lane executes one move after the other. It has finished a send when the message is in a slot of the
///   channel, and a receive when the value is made.
/// * A channel has `connections` on the route between its ranks, each with every n-th message. They alternate
///   at the sender's link, so that many messages travel concurrently, if no later link is narrower; in a
///   switch's queue messages stay in order. A channel has at most `slots` messages in flight: a slot is free
///   again when the receiver has taken the message and the sender knows it.
/// * A move waits for the values and the chunks of memory that it reads, and overwrites none that is still to
///   be read; it takes place as soon as possible. Input and output are separate.
/// * Work within a rank (sums, copies) takes no time.
///
/// Pure.
/// Tests: tests/algorithms/sim_plans_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/sim/flow_routes.h"
#include "algorithms/sim/flows.h"
#include "src/base/status.h"

namespace weir::sim {

/// The properties of channels, apart from the edges that they use.
struct Channels {
  double hop_latency = 0;  ///< seconds, of each edge, in addition to Network::latencies
  double alpha = 0;        ///< seconds that the sender spends on each message
  double slot_bytes = 0;   ///< maximum size of a message; 0: moves are not divided
  int slots = 2;           ///< maximum number of messages in flight in a channel
  double pace = 0;         ///< GB/s of a channel; 0: unlimited
  bool paced = false;      ///< whether channels also keep to their fair shares (paces.h)
  double window = 0;       ///< maximum bytes in flight in a channel, in addition to the slots; 0: unlimited
  double burst = 0;        ///< bytes that pass an edge at once after an idle period (buckets.h)
  int connections = 1;     ///< number of connections of a channel
};

/// Chunks and their tiles, for a message size.
struct Tiling {
  double chunk_bytes = 0;
  double tile_bytes = 0;  ///< bytes of one chunk
  int64_t passes = 0;

  /// The rest of a chunk in the last pass.
  double last_bytes() const { return chunk_bytes - static_cast<double>(passes - 1) * tile_bytes; }
};

/// `bytes`: size of the largest buffer of a rank (the full gathered or reduced data, or what it sends to
/// all).
Tiling tile(const ir::Plan& plan, double bytes, const Channels& channels);

/// The flows of `passes` passes (at most tiling.passes), the last one being the plan's last one. Routes are
/// requested in the order of the moves. REQUIRES: a plan that ir::verify accepts. Errors: invalid_argument if
/// the numbers of ranks of plan and network differ, for figures that are negative or not finite, fewer than
/// one slot, and ranks without a path.
struct PlanFlows {
  FlowSet flows;
  std::vector<FlowId> pass_ends;  ///< index: pass; one after its last flow
};
Result<PlanFlows> plan_flows(const ir::Plan& plan, const Tiling& tiling, int64_t passes,
                             const Network& network, FlowRoutes& routes, const Channels& channels);

}  // namespace weir::sim
