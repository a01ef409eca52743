// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/plan_times.h"

#include <algorithm>

#include "algorithms/sim/plan_loads.h"
#include "algorithms/sim/simulate.h"
#include "src/exec/gpu/segment_table.h"

namespace weir::core {
namespace {

/// Seconds per message; an assumption (device_plans.cc).
constexpr double kMessage = 2e-6;
/// Simulated flows: tens of milliseconds. Further passes are assumed to take as long.
constexpr int64_t kMostFlows = 30'000;

/// Bytes of the largest buffer of a rank.
double whole_bytes(const ir::Shape& shape, size_t bytes) {
  int blocks = 1;
  for (Rank rank = 0; rank < shape.ranks; ++rank)
    blocks = std::max({blocks, ir::input_blocks(shape, rank), ir::output_blocks(shape, rank)});
  return static_cast<double>(bytes) * blocks;
}

}  // namespace

Result<double> PlanTimes::of_messages(const ir::Plan& plan, size_t bytes, size_t message_bytes) const {
  sim::FlowRoutes routes(network_);
  sim::Channels channels;
  channels.alpha = kMessage;
  channels.slot_bytes = static_cast<double>(message_bytes);
  channels.slots = exec::gpu::GpuSegmentTable::kSlots;
  const auto found =
      sim::simulate(plan, whole_bytes(plan.shape, bytes), network_, routes, channels, kMostFlows);
  WEIR_TRY(found.status());
  return found->seconds;
}

Result<double> PlanTimes::of_links(const ir::Plan& plan, size_t bytes) const {
  sim::FlowRoutes routes(network_);
  const auto loads = sim::loads_of(plan, network_, routes);
  WEIR_TRY(loads.status());
  return loads->time.value() * whole_bytes(plan.shape, bytes) / (algorithms::kCapacityUnit * 1e9);
}

}  // namespace weir::core
