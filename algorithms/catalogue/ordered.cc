// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/ordered.h"

#include <algorithm>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/relabel.h"

namespace weir::algorithms {

Result<ir::Plan> emit_in_order(std::string_view algorithm, const ir::Shape& shape, const Layout& layout) {
  const std::vector<Rank>& order = layout.order;
  if (!std::is_sorted(order.begin(), order.end())) {
    ir::Shape ordered = shape;
    const auto place = std::find(order.begin(), order.end(), shape.root) - order.begin();
    if (has_root(shape.kind)) ordered.root = static_cast<Rank>(place);
    auto plan = emit(algorithm, ordered, layout);
    WEIR_TRY(plan.status());
    auto relabelled = ir::relabelled(std::move(*plan), order);
    if (relabelled.ok()) return relabelled;
  }
  return emit(algorithm, shape, layout);
}

}  // namespace weir::algorithms
