// SPDX-License-Identifier: Apache-2.0
/// Plans as pictures and tables.
///
/// Pure and thread-safe; any plan, valid or not, can be drawn.
#pragma once

#include <string>

#include "algorithms/ir/plan.h"

namespace weir::ir {

/// A Graphviz graph: ranks are nodes, moves are edges (solid: sent, dashed: pulled, dotted: local). A plan
/// with more than kDrawnMoves moves gets one edge per pair of ranks, with totals.
inline constexpr size_t kDrawnMoves = 64;
std::string draw_dot(const Plan& plan);

/// The moves of each rank in order, one line per move and rank. Long for large plans: about 60 bytes per
/// line.
std::string draw_table(const Plan& plan);

}  // namespace weir::ir
