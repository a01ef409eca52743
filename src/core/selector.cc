#include "src/core/selector.h"

#include "src/base/log.h"

namespace weir::core {

void Selector::set_rates(const cost::Rates& rates) { surroundings_.rates = rates; }

bool Selector::allows(const algorithms::Entry& entry) const {
  if (surroundings_.layout.rings.empty()) return filter_.allows(entry);
  if (entry.algorithm == "ring") return false;
  return filter_.allows(entry) || (entry.algorithm == "ring_set" && filter_.allows("ring", entry.kind));
}

const cost::Table& Selector::table(Collective kind) {
  std::optional<cost::Table>& table = tables_[static_cast<size_t>(kind)];
  if (!table) {
    table.emplace(kind, surroundings_, [this](const algorithms::Entry& entry) { return allows(entry); });
    // What was asked for may need more than these ranks have: then it is as if it was not asked for.
    if (table->at(0).best.entry == nullptr) table.emplace(kind, surroundings_);
    for (const std::string& line : cost::lines_of(*table)) WEIR_INFO(tuning, "{}: {}", name(kind), line);
  }
  return *table;
}

}  // namespace weir::core
