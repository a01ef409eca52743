// SPDX-License-Identifier: Apache-2.0
/// Plans as bytes, for the other processes of a host.
///
/// Pure.
/// Tests: tests/core/host_board_test.cc
#pragma once

#include <optional>
#include <vector>

#include "src/base/bytes.h"
#include "src/core/planning/common.h"

namespace weir::core {

Bytes write_plan(const ProvenPlan& proven);
/// Nullopt for bytes that are no plan, or one whose moves lead out of it.
std::optional<ProvenPlan> read_plan(BytesView bytes);

/// The same for plans that are not proven yet.
Bytes write_plans(const std::vector<ir::Plan>& plans);
std::optional<std::vector<ir::Plan>> read_plans(BytesView bytes);

}  // namespace weir::core
