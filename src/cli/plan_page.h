// SPDX-License-Identifier: Apache-2.0
/// Plans as pictures: the trees, and how busy they make the links of the topology.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "algorithms/packing/trees.h"
#include "src/cli/best_plan.h"

namespace weir::cli {

/// One host with its links in the colours of their loads, or the network of several.
std::string plan_svg(const PlanTask& task, const BestPlan& plan);

/// A page of its own. `numbers` and `sentences`: see topology::Story.
std::string plan_html(const PlanTask& task, const BestPlan& plan,
                      std::vector<std::pair<std::string, std::string>> numbers,
                      std::vector<std::string> sentences);

/// The trees of a packing side by side, the first kDrawnTrees of them; roots on top, edges between hosts
/// (`hosts`: by rank) in another colour. Without a style sheet: for pages that have topology::style_sheet().
inline constexpr size_t kDrawnTrees = 8;
std::string trees_svg(const algorithms::Packing& packing, const std::vector<topology::Index>& hosts);

}  // namespace weir::cli
