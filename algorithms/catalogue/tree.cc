// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/tree.h"

namespace weir::algorithms {

using ir::Operand;

Operand climb(ir::Builder& plan, const RotatedTree& rotated, int node, uint32_t c, Operand keep) {
  Operand sum = ir::input(c);
  const auto& children = rotated.tree.children[static_cast<size_t>(node)];
  std::vector<Operand> arriving;
  for (int child : children) arriving.push_back(climb(plan, rotated, child, c, {}));
  for (size_t i = 0; i < children.size(); ++i) {
    const Operand to = i + 1 == children.size() ? keep : Operand{};
    sum = ir::value(
        plan.send(rotated.rank(children[i]), rotated.rank(node), arriving[i], {.with = sum, .to = to}));
  }
  return sum;
}

void descend(ir::Builder& plan, const RotatedTree& rotated, int node, uint32_t c, Operand carried,
             uint8_t lane) {
  const auto& children = rotated.tree.children[static_cast<size_t>(node)];
  std::vector<Operand> handed;
  for (int child : children) {
    handed.push_back(
        ir::value(plan.send(rotated.rank(node), rotated.rank(child), carried, {.to = ir::output(c)})));
  }
  plan.lane(lane);
  for (size_t i = 0; i < children.size(); ++i) descend(plan, rotated, children[i], c, handed[i], lane);
}

}  // namespace weir::algorithms
