// SPDX-License-Identifier: Apache-2.0
/// Plans of the library's own algorithms for a task.
#pragma once

#include <string_view>

#include "algorithms/ir/plan.h"
#include "src/cli/plan_task.h"

namespace weir::cli {

/// That of an algorithm of the catalogue, in the order and with the groups that communicators would take; its
/// rings are those that fill the network best. Errors: of algorithms::emit() and algorithms::pack_rings(),
/// and invalid_argument for a plan that only one order of ranks has.
Result<ir::Plan> plan_by(std::string_view algorithm, const PlanTask& task, Rank root);

}  // namespace weir::cli
