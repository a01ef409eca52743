// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/row_speed.h"

#include <algorithm>

namespace weir::trainer::plan {

RowSpeed row_speed(const RowSample& few, const RowSample& many, double flops) {
  const double each = (many.seconds - few.seconds) / (many.rows - few.rows);
  const double fixed = many.seconds - each * many.rows;
  const double half_rows = each > 0 ? std::clamp(fixed / each, 0.0, many.rows) : many.rows;
  return {(many.rows + half_rows) * flops / many.seconds, half_rows};
}

}  // namespace weir::trainer::plan
