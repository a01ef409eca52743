// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/shard_units.h"

namespace weir::trainer {

std::string name_of_unit(size_t at, size_t units) {
  if (at == 0) return "embedding";
  return at + 1 == units ? "head" : "block " + std::to_string(at);
}

std::vector<shard::Unit> units_in(const Model& model, const parallel::UnitRange& range) {
  std::vector<shard::Unit> units;
  for (size_t at = range.first; at < range.end; ++at) {
    const ParameterTable& table = model.units()[at]->parameters();
    shard::Unit& unit = units.emplace_back();
    unit.name = name_of_unit(at, model.units().size());
    unit.parameters = static_cast<size_t>(table.size());
    for (const ContiguousRange& stretch : table.stretches())
      unit.stretches.push_back({static_cast<size_t>(stretch.first), static_cast<size_t>(stretch.whole),
                                static_cast<size_t>(stretch.count),
                                !stretch.copied || model.slice().index == 0});
  }
  return units;
}

}  // namespace weir::trainer
