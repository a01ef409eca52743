// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/message_bytes.h"

#include <utility>

namespace weir::sim {
namespace {

constexpr double kEqual = 1e-2;  // differences of the times of equally fast sizes, as in cost::CostTable

}  // namespace

Result<SizedMessages> fastest_messages(const ir::Plan& plan, double bytes, const Network& network,
                                       const Channels& channels, Prediction whole) {
  SizedMessages best{channels.slot_bytes, std::move(whole)};
  const double least = least_seconds(best.prediction, network);
  Channels smaller = channels;
  for (const double part : {2.0, 4.0}) {
    if (best.prediction.seconds * (1 - kEqual) <= least) break;
    Channels current = channels;
    current.slot_bytes = best.slot_bytes;
    smaller.slot_bytes = channels.slot_bytes / part;
    if (tile(plan, bytes, smaller).passes <= tile(plan, bytes, current).passes) continue;  // the same tiles
    auto run = simulate(plan, bytes, network, smaller);
    WEIR_TRY(run.status());
    if (run->seconds < best.prediction.seconds * (1 - kEqual)) best = {smaller.slot_bytes, std::move(*run)};
  }
  return best;
}

}  // namespace weir::sim
