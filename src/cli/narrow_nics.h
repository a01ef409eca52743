// SPDX-License-Identifier: Apache-2.0
/// NICs that are slower than their cables, because PCIe between them and the GPUs is.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <string>

#include "src/cli/plan_task.h"

namespace weir::cli {

/// A sentence about the NICs of a task whose PCIe links carry less than their cables, and what plans do
/// there; empty if there are none.
std::string narrow_nics(const PlanTask& task);

}  // namespace weir::cli
