// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/selector.h"

#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/core/planning/ring_file.h"

namespace weir::core {

Selector::Selector(cost::Environment environment, cost::Environment rank_order, SumOrder order,
                   cost::Filter filter, SharedTables& tables)
    : environment_(std::move(environment)),
      sums_(order == SumOrder::ranks ? std::move(rank_order) : environment_),
      order_(order),
      filter_(std::move(filter)),
      shared_(tables) {}

void Selector::set_rates(const cost::Rates& rates, const cost::Rates& shipped) {
  environment_.rates = rates;
  sums_.rates = order_ == SumOrder::run ? shipped : rates;
}

bool Selector::allows(const algorithms::Entry& entry) const {
  if (keeps_rank_order(entry.kind)) return sums_in_rank_order(entry) && filter_.allows(entry);
  if (environment_.layout.rings.empty()) return filter_.allows(entry);
  if (entry.algorithm == "ring") return false;
  return filter_.allows(entry) || (entry.algorithm == "ring_set" && filter_.allows("ring", entry.kind));
}

bool Selector::wants_plan(Collective kind, Rank root, size_t bytes) const {
  if (loaded_plans_ != nullptr && loaded_plans_->find(kind, root, bytes) != nullptr) return true;
  return tuning_result_ != nullptr && tuning_result_->at(kind, bytes).way == TuningResult::Way::plan;
}

Selector::Choice Selector::choose(Collective kind, Rank root, size_t bytes) {
  Choice choice;
  choice.in_rank_order = keeps_rank_order(kind);
  if (loaded_plans_ != nullptr) {
    choice.sizes = loaded_plans_->sizes_like(kind, root, bytes);
    choice.loaded = loaded_plans_->find(kind, root, bytes);
    if (choice.loaded != nullptr) return choice;
  }
  const TuningResult::Answer said =
      tuning_result_ != nullptr ? tuning_result_->at(kind, bytes) : TuningResult::Answer();
  if (said.way == TuningResult::Way::plan) {
    choice.entry = &algorithms::catalogue()[said.entry];
    choice.tile_divisor = said.tile_divisor;
  } else {
    const cost::Estimate& best = table(kind).at(bytes).best;
    choice.entry = best.entry;
    choice.tile_divisor = best.tile_divisor;
  }
  const bool over_rings =
      choice.entry != nullptr && (choice.entry->algorithm == "ring" || choice.entry->algorithm == "ring_set");
  if (said.rings > 0 && over_rings) {
    if (said.way != TuningResult::Way::plan) choice.tile_divisor = 1;  // it was for other rings
    choice.rings = said.rings;
  }
  return choice;
}

bool Selector::changes_rings(size_t least_rings, size_t most_rings) const {
  const size_t rings = std::max(environment_.layout.rings.size(), size_t{1});
  return rings < least_rings || (most_rings > 0 && rings > most_rings);
}

Selector::Selected Selector::select(Collective kind, size_t bytes, const cost::Allowed& allowed,
                                    size_t least_rings, size_t most_rings) const {
  cost::Environment around = reduces(kind) ? sums_ : environment_;
  const bool in_rank_order = keeps_rank_order(kind);
  if (!in_rank_order && changes_rings(least_rings, most_rings))
    limit_rings(around.layout, std::max(least_rings, size_t{1}), most_rings > 0 ? most_rings : SIZE_MAX);
  const bool over_rings = !around.layout.rings.empty();
  const auto best = [&](bool for_rank_order) {
    const cost::CostTable table(kind, around, [&](const algorithms::Entry& entry) {
      if (!allowed(entry) || !filter_.allows(entry)) return false;
      if (in_rank_order) return sums_in_rank_order(entry);
      return is_for_rank_order(entry) == for_rank_order && (!over_rings || entry.algorithm != "ring");
    });
    return table.at(bytes).best.entry;
  };
  const algorithms::Entry* entry = best(false);
  // Those that exist for sums in rank order only may be what is asked for.
  if (entry == nullptr && !in_rank_order) entry = best(true);
  return {entry, std::move(around.layout)};
}

cost::CostTable Selector::make_table(Collective kind) const {
  const cost::Environment& around = reduces(kind) ? sums_ : environment_;
  const bool in_rank_order = keeps_rank_order(kind);
  const auto table_of = [&](const cost::Allowed& allowed) { return cost::CostTable(kind, around, allowed); };
  cost::CostTable table = table_of([&](const algorithms::Entry& entry) {
    return allows(entry) && (in_rank_order || !is_for_rank_order(entry));
  });
  // Those that exist for sums in rank order only may have been requested.
  if (table.at(0).best.entry == nullptr) table = table_of([&](const auto& entry) { return allows(entry); });
  // The requested algorithms may not support these ranks; then the request is ignored.
  if (table.at(0).best.entry == nullptr)
    table = in_rank_order ? table_of(algorithms::sums_in_rank_order) : table_of(nullptr);
  for (const std::string& line : cost::lines_of(table)) WEIR_INFO(tuning, "{}: {}", name(kind), line);
  return table;
}

const cost::CostTable& Selector::table(Collective kind) {
  const cost::CostTable*& table = tables_[static_cast<size_t>(kind)];
  if (table == nullptr) table = &shared_.of(kind, [&] { return make_table(kind); });
  return *table;
}

}  // namespace weir::core
