// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/proven_plan.h"

#include <fmt/format.h>

#include "algorithms/catalogue/ordered.h"
#include "algorithms/ir/verify.h"
#include "src/base/clock.h"
#include "src/base/log.h"

namespace weir::core {

Result<ir::Plan> emit_proven(const std::string& algorithm, const ir::Shape& shape,
                             const algorithms::Layout& layout, size_t most_moves_exact) {
  auto plan = algorithms::emit_in_order(algorithm, shape, layout);
  WEIR_TRY(plan.status());
  const bool exact = plan->moves.size() <= most_moves_exact;
  const int64_t begun = now_ns();
  if (const Status proof = ir::verify(*plan, exact ? ir::RankSetKind::exact : ir::RankSetKind::fingerprints);
      !proof.ok()) {
    return Status(Code::internal_error,
                  fmt::format("the {} plan for {} over {} ranks is wrong and was not run: {}", algorithm,
                              name(shape.kind), shape.ranks, proof.message()));
  }
  WEIR_INFO(tuning, "the {} plan for {} over {} ranks is proven {}: {} moves, {:.1f} ms", algorithm,
            name(shape.kind), shape.ranks, exact ? "exactly" : "by fingerprints", plan->moves.size(),
            static_cast<double>(now_ns() - begun) / 1e6);
  return plan;
}

}  // namespace weir::core
