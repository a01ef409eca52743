// SPDX-License-Identifier: Apache-2.0

#include "tests/trainer/reference.h"

#include <stdexcept>

namespace weir::trainer::reference {
namespace {

const double* tensor(const ParameterTable& table, const Values& values, const std::string& name) {
  for (const Tensor& entry : table.tensors())
    if (entry.name.ends_with(name)) return values.data() + entry.offset;
  throw std::out_of_range(name);
}

Values transposed(size_t rows, size_t columns, const double* matrix) {
  Values out(rows * columns);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      out[column * rows + row] = matrix[row * columns + column];
  return out;
}

void add(const Values& addend, Values& sum) {
  for (size_t at = 0; at < sum.size(); ++at) sum[at] += addend[at];
}

struct Shape {
  size_t sequences;
  size_t length;
  size_t heads;
  size_t width;
  size_t rows() const { return sequences * length; }
};

void block(const Shape& shape, const ParameterTable& table, const Values& values, Values& x) {
  const auto at = [&](const char* name) { return tensor(table, values, name); };
  const size_t rows = shape.rows();
  const size_t width = shape.width;
  const Values normal1 = layer_norm(rows, width, x.data(), at("norm1.gain"), at("norm1.bias"));
  const Values all_three =
      linear(rows, width, 3 * width, normal1.data(),
             transposed(3 * width, width, at("attention.weight")).data(), at("attention.bias"));
  const Values mixed = attention(shape.sequences, shape.length, shape.heads, width, all_three);
  add(linear(rows, width, width, mixed.data(), at("mix.weight"), at("mix.bias")), x);
  const Values normal2 = layer_norm(rows, width, x.data(), at("norm2.gain"), at("norm2.bias"));
  Values widened = linear(rows, width, 4 * width, normal2.data(),
                          transposed(4 * width, width, at("widen.weight")).data(), at("widen.bias"));
  for (double& value : widened) value = gelu(value);
  add(linear(rows, 4 * width, width, widened.data(), at("narrow.weight"), at("narrow.bias")), x);
}

/// x [rows, in] by weights of which rows are outputs, [out, in].
Values layer(size_t rows, size_t in, size_t out, const Values& x, const double* weights) {
  return linear(rows, in, out, x.data(), transposed(out, in, weights).data(), nullptr);
}

/// Heads side by side, each turned by its position, `group` times in a row.
Values heads_of(const Shape& shape, const Values& rows, size_t heads, double base, size_t group) {
  const size_t size = shape.width / shape.heads;
  Values out;
  for (size_t row = 0; row < shape.rows(); ++row)
    for (size_t head = 0; head < heads; ++head) {
      const auto from = rows.begin() + static_cast<Index>((row * heads + head) * size);
      Values one(from, from + static_cast<Index>(size));
      if (base > 0) turn(row % shape.length, size, base, one.data());
      for (size_t copy = 0; copy < group; ++copy) out.insert(out.end(), one.begin(), one.end());
    }
  return out;
}

void llama_block(const Config& config, const Shape& shape, const ParameterTable& table, const Values& values,
                 Values& x) {
  const auto at = [&](const char* name) { return tensor(table, values, name); };
  const size_t rows = shape.rows();
  const size_t width = shape.width;
  const auto epsilon = static_cast<double>(config.epsilon), base = static_cast<double>(config.rotary_base);
  const auto shared = static_cast<size_t>(config.key_value_heads),
             hidden = static_cast<size_t>(config.hidden);
  const size_t group = shape.heads / shared, narrow = width / group;
  const Values normal1 = rms_norm(rows, width, x.data(), at("norm1.gain"), epsilon);
  const Values parts[] = {
      heads_of(shape, layer(rows, width, width, normal1, at("query.weight")), shape.heads, base, 1),
      heads_of(shape, layer(rows, width, narrow, normal1, at("key.weight")), shared, base, group),
      heads_of(shape, layer(rows, width, narrow, normal1, at("value.weight")), shared, 0, group)};
  Values all_three;
  for (size_t row = 0; row < rows; ++row)
    for (const Values& part : parts)
      all_three.insert(all_three.end(), part.begin() + static_cast<Index>(row * width),
                       part.begin() + static_cast<Index>((row + 1) * width));
  const Values mixed = attention(shape.sequences, shape.length, shape.heads, width, all_three);
  add(linear(rows, width, width, mixed.data(), at("mix.weight"), nullptr), x);
  const Values normal2 = rms_norm(rows, width, x.data(), at("norm2.gain"), epsilon);
  Values gate = layer(rows, width, hidden, normal2, at("gate.weight"));
  const Values up = layer(rows, width, hidden, normal2, at("up.weight"));
  for (size_t element = 0; element < gate.size(); ++element)
    gate[element] = silu(gate[element]) * up[element];
  add(linear(rows, hidden, width, gate.data(), at("down.weight"), nullptr), x);
}

}  // namespace

double model_loss(const Config& config, const Model& model, const std::vector<Values>& parameters,
                  std::span<const Token> tokens, std::span<const Token> targets) {
  const auto size = [](Index value) { return static_cast<size_t>(value); };
  const Shape shape{tokens.size() / size(config.length), size(config.length), size(config.heads),
                    size(config.width)};
  const auto& units = model.units();
  Values x(shape.rows() * shape.width);
  const double* rows = tensor(units.front()->parameters(), parameters.front(), "tokens");
  const bool is_llama = config.form == Form::llama;
  const double* positions =
      is_llama ? nullptr : tensor(units.front()->parameters(), parameters.front(), "positions");
  for (size_t row = 0; row < shape.rows(); ++row)
    for (size_t at = 0; at < shape.width; ++at)
      x[row * shape.width + at] = rows[tokens[row] * shape.width + at] +
                                  (is_llama ? 0.0 : positions[row % shape.length * shape.width + at]);
  for (size_t unit = 1; unit + 1 < units.size(); ++unit)
    if (is_llama)
      llama_block(config, shape, units[unit]->parameters(), parameters[unit], x);
    else
      block(shape, units[unit]->parameters(), parameters[unit], x);
  const ParameterTable& head = units.back()->parameters();
  const Values& last = parameters.back();
  const double* gain = tensor(head, last, "norm.gain");
  const Values normal =
      is_llama ? rms_norm(shape.rows(), shape.width, x.data(), gain, static_cast<double>(config.epsilon))
               : layer_norm(shape.rows(), shape.width, x.data(), gain, tensor(head, last, "norm.bias"));
  const Values table = config.tied ? transposed(size(config.vocabulary), shape.width, rows) : Values();
  const Values logits = linear(shape.rows(), shape.width, size(config.vocabulary), normal.data(),
                               config.tied ? table.data() : tensor(head, last, "head.weight"), nullptr);
  return cross_entropy(shape.rows(), size(config.vocabulary), logits.data(), targets.data());
}

}  // namespace weir::trainer::reference
