// SPDX-License-Identifier: Apache-2.0
/// Plans of the catalogue's algorithms for a task.
#pragma once

#include <string_view>

#include "algorithms/ir/plan.h"
#include "src/cli/plan_task.h"

namespace weir::cli {

/// A plan of the named algorithm, with the same order and groups of ranks as a communicator would use; its
/// rings are those that fill the network best. Errors: those of algorithms::emit() and
/// algorithms::pack_rings(), and invalid_argument for a plan that exists for only one order of ranks.
Result<ir::Plan> plan_by(std::string_view algorithm, const PlanTask& task, Rank root);

}  // namespace weir::cli
