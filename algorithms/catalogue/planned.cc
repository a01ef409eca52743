// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/planned.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/planner/planner.h"
#include "algorithms/planner/schedule.h"
#include "algorithms/sim/plan_loads.h"

namespace weir::algorithms {
namespace {

using ir::Operand;

/// A size at which bandwidth counts, and channels between hosts as communicators open them.
constexpr double kLongMessage = 64 << 20;
/// Simulated to order the moves: about 30 ms of CPU time.
constexpr int64_t kMostFlows = 30'000;
constexpr sim::Channels kChannels{.slot_bytes = 256 << 10, .slots = 4};

/// Whether the plan puts less load on its most loaded link than rings do, which keep their order of sums and
/// need fewer channels.
bool gains(const CollectivePlan& plan, const Layout& layout) {
  const int ranks = layout.network->ranks();
  for (const std::string_view rings : {"ring", "hierarchical"}) {
    const uint32_t chunks = default_chunks(*find(rings, plan.collective), ranks, layout);
    const auto other = emit(rings, {plan.collective, ranks, 0, chunks}, layout);
    if (!other.ok()) continue;
    sim::FlowRoutes routes(*layout.network);
    const auto loads = sim::loads_of(*other, *layout.network, routes);
    if (loads.ok() && exactly(loads->time) <= plan.time) return false;
  }
  return true;
}

/// Divides every chunk into `times` chunks.
ir::Plan refined(ir::Plan plan, uint32_t times) {
  plan.shape.chunks *= times;
  plan.scratch_chunks *= times;
  for (ir::Move& move : plan.moves) {
    move.chunks *= times;
    for (Operand* operand : {&move.from, &move.with, &move.to})
      if (operand->in_memory()) operand->index *= times;
  }
  return plan;
}

}  // namespace

void join(Layout& layout, Network by_rank, std::span<const char> between_hosts, int most_lanes) {
  const std::vector<int32_t> nodes = by_rank.rank_nodes;
  for (size_t place = 0; place < nodes.size(); ++place)
    by_rank.rank_nodes[place] = nodes[static_cast<size_t>(layout.order[place])];
  layout.network = std::move(by_rank);
  layout.plans = nullptr;
  const int ranks = layout.network->ranks();
  if (ranks < 2 || ranks > kMostPlannedRanks || layout.network->edges.size() > kMostPlannedEdges) return;
  std::vector<ir::Plan> plans;
  for (const auto kind : {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather}) {
    auto best = plan_collective(*layout.network, between_hosts, kind);
    if (!best.ok() || !gains(*best, layout)) continue;
    auto moves = schedule_fewer(*best, *layout.network, kLongMessage, kChannels, kMostFlows, most_lanes);
    if (!moves.ok()) continue;
    moves->plan.algorithm = "planned";
    plans.push_back(std::move(moves->plan));
  }
  layout.plans = std::make_shared<const std::vector<ir::Plan>>(std::move(plans));
}

const ir::Plan* planned_for(Collective kind, int ranks, const Layout& layout) {
  if (layout.plans == nullptr) return nullptr;
  const auto plan = std::ranges::find_if(*layout.plans, [&](const ir::Plan& each) {
    return each.shape.kind == kind && each.shape.ranks == ranks;
  });
  return plan == layout.plans->end() ? nullptr : &*plan;
}

Result<ir::Plan> planned(const ir::Shape& shape, const Layout& layout) {
  if (const ir::Plan* plan = planned_for(shape.kind, shape.ranks, layout))
    return refined(*plan, shape.chunks / plan->shape.chunks);
  return Status(Code::invalid_argument,
                fmt::format("no plan was computed for {} ranks: expected 2 to {} ranks on a network whose "
                            "bandwidths are known, and on which rings are not optimal",
                            shape.ranks, kMostPlannedRanks));
}

}  // namespace weir::algorithms
