// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/common.h"

#include <algorithm>

namespace weir::core {

const cost::CostTable& SharedTables::of(Collective kind, const std::function<cost::CostTable()>& make) {
  const std::lock_guard lock(mutex_);
  auto& table = tables_[static_cast<size_t>(kind)];
  if (table == nullptr) table = std::make_unique<const cost::CostTable>(make());
  return *table;
}

Result<std::shared_ptr<const ProvenPlan>> ProvenPlans::of(
    const Key& key, const std::function<Result<ir::Plan>()>& make_and_prove) {
  const std::lock_guard lock(mutex_);
  auto entry = std::ranges::find(entries_, key, &Entry::key);
  if (entry == entries_.end()) {
    auto plan = make_and_prove();
    WEIR_TRY(plan.status());
    std::vector<exec::Fact> facts = exec::facts_of(*plan);
    auto proven = std::make_shared<const ProvenPlan>(ProvenPlan{std::move(*plan), std::move(facts)});
    if (ranks_ == 1) return proven;
    if (entries_.size() == kMost) entries_.pop_front();
    entry = entries_.insert(entries_.end(), {key, std::move(proven), ranks_});
  }
  const std::shared_ptr<const ProvenPlan> proven = entry->plan;
  if (--entry->awaited == 0) entries_.erase(entry);
  return proven;
}

}  // namespace weir::core
