// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/tree.h"

namespace weir::algorithms {

using ir::Operand;

Operand climb(ir::Builder& plan, const Planted& planted, int node, uint32_t c, Operand keep) {
  Operand sum = ir::input(c);
  const auto& children = planted.tree.children[static_cast<size_t>(node)];
  std::vector<Operand> arriving;
  for (int child : children) arriving.push_back(climb(plan, planted, child, c, {}));
  for (size_t i = 0; i < children.size(); ++i) {
    const Operand to = i + 1 == children.size() ? keep : Operand{};
    sum = ir::value(
        plan.send(planted.rank(children[i]), planted.rank(node), arriving[i], {.with = sum, .to = to}));
  }
  return sum;
}

void descend(ir::Builder& plan, const Planted& planted, int node, uint32_t c, Operand carried, uint8_t lane) {
  const auto& children = planted.tree.children[static_cast<size_t>(node)];
  std::vector<Operand> handed;
  for (int child : children) {
    handed.push_back(
        ir::value(plan.send(planted.rank(node), planted.rank(child), carried, {.to = ir::output(c)})));
  }
  plan.lane(lane);
  for (size_t i = 0; i < children.size(); ++i) descend(plan, planted, children[i], c, handed[i], lane);
}

}  // namespace weir::algorithms
