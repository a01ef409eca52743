#include "src/core/selector.h"

#include "src/base/log.h"

namespace weir::core {

void Selector::set_rates(const cost::Rates& rates) { surroundings_.rates = rates; }

const cost::Table& Selector::table(Collective kind) {
  std::optional<cost::Table>& table = tables_[static_cast<size_t>(kind)];
  if (!table) {
    table.emplace(kind, surroundings_,
                  [this](const algorithms::Entry& entry) { return filter_.allows(entry); });
    // What was asked for may need more than these ranks have: then it is as if it was not asked for.
    if (table->at(0).best.entry == nullptr) table.emplace(kind, surroundings_);
    for (const std::string& line : cost::lines_of(*table)) WEIR_INFO(tuning, "{}: {}", name(kind), line);
  }
  return *table;
}

}  // namespace weir::core
