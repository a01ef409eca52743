// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/model.h"

#include <fmt/format.h>

namespace weir::trainer::plan {

double Model::parameters() const {
  double sum = 0;
  for (const Unit& unit : units) sum += unit.parameters;
  return sum;
}

double Model::flops_per_token() const {
  double sum = 0;
  for (const Unit& unit : units) sum += 3 * forward_flops(*this, unit);
  return sum;
}

double attention_flops(const Model& model, const Unit& unit) {
  return 4 * model.sequence * model.width * unit.attentions;
}

double forward_flops(const Model& model, const Unit& unit) {
  return 2 * unit.products + attention_flops(model, unit);
}

MovedElements loss_elements(double vocabulary) { return {vocabulary, 2 * vocabulary}; }

MovedElements lookup_elements(double width, int tables) {
  return {(tables + 1) * width, (2 * tables + 1) * width};
}

Model decoder(const DecoderShape& shape) {
  const double width = shape.width;
  Model model{shape.name, width, shape.heads, shape.sequence, shape.vocabulary, shape.flash, {}};
  model.units.push_back({"embedding", (shape.vocabulary + shape.sequence) * width, 0, 0, shape.tied, false,
                         lookup_elements(width, 2)});
  for (int layer = 0; layer < static_cast<int>(shape.layers); ++layer)
    model.units.push_back(
        {fmt::format("block {}", layer), 12 * width * width + 13 * width, 12 * width * width, 1});
  const double matrix = shape.vocabulary * width;
  model.units.push_back({"head", 2 * width + (shape.tied ? 0 : matrix), matrix, 0, false, false,
                         loss_elements(shape.vocabulary)});
  return model;
}

}  // namespace weir::trainer::plan
