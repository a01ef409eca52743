// SPDX-License-Identifier: Apache-2.0
/// Plans of the catalogue's algorithms for a network. Pure and thread-safe.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <string_view>

#include "algorithms/best_plan/best_plan.h"
#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// A plan of the named algorithm, with the same order and groups of ranks as a communicator would use; its
/// rings are those that fill the network best. Errors: those of emit() and pack_rings(), and invalid_argument
/// for a plan that exists for only one order of ranks.
Result<ir::Plan> plan_by(std::string_view algorithm, const PlanRequest& request);

}  // namespace weir::algorithms
