// SPDX-License-Identifier: Apache-2.0
/// Plans in any of the formats that weir reads: its own text (docs/plan-format.md), MSCCL's XML, or MSCCL++'s
/// JSON.
///
/// Pure and thread-safe.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <string>
#include <string_view>

#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// The plan of a text, which is MSCCL's where it begins with '<', and MSCCL++'s where it begins with '{'. It
/// is well-formed, not proved. `name` is the file's, for messages. Errors: of ir::read_text(), msccl::read()
/// and mscclpp::read().
Result<ir::Plan> read_any_plan(std::string_view text, const std::string& name);

}  // namespace weir::algorithms
