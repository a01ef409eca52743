// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/loaded_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/ir/text.h"
#include "src/base/host.h"

namespace weir::ir {
namespace {

bool is_for(const Plan& plan, Collective kind, Rank root) {
  return plan.shape.kind == kind && (!has_root(kind) || plan.shape.root == root);
}

}  // namespace

LoadedPlan loaded(std::string name, Plan plan) {
  const uint64_t hash = hash_text(write_text(plan));
  const uint32_t digest = std::max(static_cast<uint32_t>(hash ^ hash >> 32), 1u);
  std::string key = fmt::format("{} {:016x}", plan.algorithm, hash);
  return {std::move(name), std::move(key), digest, std::move(plan)};
}

void LoadedPlans::add(std::shared_ptr<const LoadedPlan> plan) { plans_.push_back(std::move(plan)); }

const LoadedPlan* LoadedPlans::find(Collective kind, Rank root, size_t bytes) const {
  for (const auto& loaded : plans_) {
    const Plan& plan = loaded->plan;
    if (is_for(plan, kind, root) && plan.least_bytes <= bytes && bytes <= plan.most_bytes)
      return loaded.get();
  }
  return nullptr;
}

LoadedPlans::Sizes LoadedPlans::sizes_like(Collective kind, Rank root, size_t bytes) const {
  Sizes sizes;
  for (const auto& loaded : plans_) {
    const Plan& plan = loaded->plan;
    if (!is_for(plan, kind, root)) continue;
    // Its borders divide the sizes, whether it is the one that runs or not.
    if (plan.least_bytes > bytes) {
      sizes.most = std::min<size_t>(sizes.most, plan.least_bytes - 1);
    } else if (plan.most_bytes < bytes) {
      sizes.least = std::max<size_t>(sizes.least, plan.most_bytes + 1);
    } else {
      sizes.least = std::max<size_t>(sizes.least, plan.least_bytes);
      sizes.most = std::min<size_t>(sizes.most, plan.most_bytes);
    }
  }
  return sizes;
}

}  // namespace weir::ir
