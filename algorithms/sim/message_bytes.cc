// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/message_bytes.h"

#include <algorithm>
#include <utility>

namespace weir::sim {
namespace {

constexpr double kEqual = 1e-2;  // differences of the times of equally fast sizes, as in cost::CostTable
constexpr double kMostFlowsOfSize = 150'000;  // sizes that would need more are not tried

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
    const auto passes = tile(plan, bytes, smaller).passes;
    if (passes <= tile(plan, bytes, current).passes) continue;  // the same tiles
    const auto simulated = static_cast<double>(std::min(passes, fewest_passes(smaller)));
    const double flows_of_pass = static_cast<double>(best.prediction.flows) /
                                 static_cast<double>(std::max<int64_t>(1, best.prediction.simulated_passes));
    if (simulated * flows_of_pass > kMostFlowsOfSize) break;
    FlowRoutes routes(network);
    auto run = simulate(plan, bytes, network, routes, smaller, kFewFlows);
    WEIR_TRY(run.status());
    if (run->seconds < best.prediction.seconds * (1 - kEqual)) best = {smaller.slot_bytes, std::move(*run)};
  }
  return best;
}

Result<SizedMessages> simulate_fastest(const ir::Plan& plan, double bytes, const Network& network,
                                       Channels channels) {
  if (plan.message_bytes > 0)
    channels.slot_bytes = std::min(channels.slot_bytes, static_cast<double>(plan.message_bytes));
  auto whole = simulate(plan, bytes, network, channels);
  WEIR_TRY(whole.status());
  if (plan.message_bytes > 0) return SizedMessages{channels.slot_bytes, std::move(*whole)};
  auto fastest = fastest_messages(plan, bytes, network, channels, std::move(*whole));
  WEIR_TRY(fastest.status());
  if (fastest->slot_bytes == channels.slot_bytes) return fastest;
  channels.slot_bytes = fastest->slot_bytes;
  auto prediction = simulate(plan, bytes, network, channels);
  WEIR_TRY(prediction.status());
  return SizedMessages{channels.slot_bytes, std::move(*prediction)};
}

}  // namespace weir::sim
