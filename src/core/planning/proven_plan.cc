// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/proven_plan.h"

#include <fmt/format.h>

#include "algorithms/catalogue/ordered.h"
#include "algorithms/ir/verify.h"
#include "src/base/log.h"

namespace weir::core {

Result<ir::Plan> emit_proven(const std::string& algorithm, const ir::Shape& shape,
                             const algorithms::Layout& layout, size_t most_moves) {
  auto plan = algorithms::emit_in_order(algorithm, shape, layout);
  WEIR_TRY(plan.status());
  if (plan->moves.size() > most_moves) {
    WEIR_INFO(
        tuning,
        "the {} plan for {} over {} ranks runs unverified: it has {} moves, and plans of up to {} moves are "
        "verified at run time; the tests verify the algorithm for fewer ranks",
        algorithm, name(shape.kind), shape.ranks, plan->moves.size(), most_moves);
    return plan;
  }
  if (const Status proof = ir::verify(*plan); !proof.ok()) {
    return Status(Code::internal_error,
                  fmt::format("the {} plan for {} over {} ranks is wrong and was not run: {}", algorithm,
                              name(shape.kind), shape.ranks, proof.message()));
  }
  return plan;
}

}  // namespace weir::core
