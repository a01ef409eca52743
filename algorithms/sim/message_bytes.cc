// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/message_bytes.h"

#include <algorithm>

#include "algorithms/sim/simulate.h"

namespace weir::sim {
namespace {

constexpr int64_t kFlows = 30'000;  // of a simulation; other passes are extrapolated
constexpr double kEqual = 1e-2;     // differences of the times of equally fast sizes, as in cost::CostTable

}  // namespace

Result<Channels> with_fastest_messages(const ir::Plan& plan, double bytes, const Network& network,
                                       Channels channels) {
  double fastest = 0;
  Channels best = channels;
  const double whole = channels.slot_bytes;
  for (const double part : {1.0, 2.0, 4.0}) {
    channels.slot_bytes = whole / part;
    // The same tiles, or those of the size before.
    if (part > 1 && tile(plan, bytes, channels).passes <= tile(plan, bytes, best).passes) continue;
    FlowRoutes routes(network);
    const auto run = simulate(plan, bytes, network, routes, channels, kFlows);
    WEIR_TRY(run.status());
    if (part > 1 && run->seconds >= fastest * (1 - kEqual)) continue;
    fastest = run->seconds;
    best = channels;
  }
  return best;
}

}  // namespace weir::sim
