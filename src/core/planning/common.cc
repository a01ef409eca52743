// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/common.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/core/planning/host_board.h"
#include "src/core/planning/plan_bytes.h"

namespace weir::core {

namespace {

/// The table of a collective from the board.
cost::CostTable shared_table(HostBoard& board, Collective kind,
                             const std::function<cost::CostTable()>& make) {
  const auto made = [&]() -> Result<cost::CostTable> { return make(); };
  auto table = board.of<cost::CostTable>(
      fmt::format("table of {}", name(kind)), made, [](const cost::CostTable& own) { return own.encode(); },
      &cost::CostTable::decode);
  return std::move(*table);  // make() does not fail
}

}  // namespace

std::string ProvenPlans::Key::text() const {
  return fmt::format("plan {} of {} over {} ranks, root {}, {} chunks, {} rings", algorithm, name(shape.kind),
                     shape.ranks, shape.root, shape.chunks, rings);
}

const cost::CostTable& SharedTables::of(Collective kind, const std::function<cost::CostTable()>& make) {
  const std::lock_guard lock(mutex_);
  auto& table = tables_[static_cast<size_t>(kind)];
  if (table == nullptr)
    table = std::make_unique<const cost::CostTable>(board_ == nullptr ? make()
                                                                      : shared_table(*board_, kind, make));
  return *table;
}

algorithms::PlansOfNetwork SharedTrees::of(const std::string& name,
                                           const std::function<std::vector<ir::Plan>()>& make) {
  const std::lock_guard lock(mutex_);
  algorithms::PlansOfNetwork& plans = plans_[name];
  if (plans != nullptr) return plans;
  const auto made = [&]() -> Result<std::vector<ir::Plan>> { return make(); };
  auto found = board_ == nullptr
                   ? made()
                   : board_->of<std::vector<ir::Plan>>("trees of " + name, made, &write_plans, &read_plans);
  plans = std::make_shared<const std::vector<ir::Plan>>(std::move(*found));  // make() does not fail
  return plans;
}

Result<std::shared_ptr<const ProvenPlan>> ProvenPlans::of(
    const Key& key, const std::function<Result<ir::Plan>()>& make_and_prove) {
  const std::lock_guard lock(mutex_);
  auto entry = std::ranges::find(entries_, key, &Entry::key);
  if (entry == entries_.end()) {
    const auto make = [&]() -> Result<ProvenPlan> {
      auto plan = make_and_prove();
      WEIR_TRY(plan.status());
      std::vector<exec::Fact> facts = exec::facts_of(*plan);
      return ProvenPlan{std::move(*plan), std::move(facts)};
    };
    auto made =
        board_ == nullptr ? make() : board_->of<ProvenPlan>(key.text(), make, &write_plan, &read_plan);
    WEIR_TRY(made.status());
    auto proven = std::make_shared<const ProvenPlan>(std::move(*made));
    if (ranks_ == 1) return proven;
    if (entries_.size() == kMost) entries_.pop_front();
    entry = entries_.insert(entries_.end(), {key, std::move(proven), ranks_});
  }
  const std::shared_ptr<const ProvenPlan> proven = entry->plan;
  if (--entry->awaited == 0) entries_.erase(entry);
  return proven;
}

}  // namespace weir::core
