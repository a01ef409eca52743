// SPDX-License-Identifier: Apache-2.0
/// Pictures of plans: the trees, and the load of each link of the topology.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/packing/trees.h"
#include "src/cli/plan_task.h"

namespace weir::cli {

/// One host with its links coloured by load, or the network of several hosts.
std::string plan_svg(const PlanTask& task, const algorithms::BestPlan& plan);

/// A complete HTML page. `numbers` and `sentences`: see topology::TopologyPage.
std::string plan_html(const PlanTask& task, const algorithms::BestPlan& plan,
                      std::vector<std::pair<std::string, std::string>> numbers,
                      std::vector<std::string> sentences);

/// The first kDrawnTrees trees of a packing, side by side; roots on top, edges between hosts (`hosts`: the
/// host of each rank) in another colour. Needs the style sheet topology::style_sheet() of the page.
inline constexpr size_t kDrawnTrees = 8;
std::string trees_svg(const algorithms::Packing& packing, const std::vector<topology::Index>& hosts);

}  // namespace weir::cli
