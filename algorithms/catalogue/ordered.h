// SPDX-License-Identifier: Apache-2.0
/// Plans of the catalogue for ranks that a layout puts into an order of its own.
///
/// Pure; thread-safe.
#pragma once

#include <string_view>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "weir/status.h"

namespace weir::algorithms {

/// As emit(), but for ranks: the plan is made over the places of the layout and names who is there. Plans
/// that move several ranks' blocks at once stay in the order of ranks: they are for small messages.
Result<ir::Plan> emit_in_order(std::string_view algorithm, const ir::Shape& shape, const Layout& layout);

}  // namespace weir::algorithms
