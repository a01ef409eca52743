// SPDX-License-Identifier: Apache-2.0
/// Plans of the catalogue for ranks in the order of a layout.
///
/// Pure; thread-safe.
/// Tests: tests/library/topology_test.cc
#pragma once

#include <string_view>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// As emit(), but for ranks: the plan is made over the positions of the layout and then uses the ranks there.
/// Plans that move several ranks' blocks at once stay in rank order: they are for small messages.
Result<ir::Plan> emit_in_order(std::string_view algorithm, const ir::Shape& shape, const Layout& layout);

}  // namespace weir::algorithms
