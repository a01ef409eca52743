// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/gpt2_tensors.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::trainer {
namespace {

struct Correspondence {
  std::string_view ours;  ///< for blocks, after "block3."
  std::string_view theirs;
  bool transposed = false;
};

constexpr std::array kOutsideBlocks = {
    Correspondence{"embedding.tokens", kGpt2Embedding},
    Correspondence{"embedding.positions", "transformer.wpe.weight"},
    Correspondence{"head.norm.gain", "transformer.ln_f.weight"},
    Correspondence{"head.norm.bias", "transformer.ln_f.bias"},
    Correspondence{"head.weight", kGpt2Head, true},
};

constexpr std::array kInBlocks = {
    Correspondence{"norm1.gain", "ln_1.weight"},
    Correspondence{"norm1.bias", "ln_1.bias"},
    Correspondence{"attention.weight", "attn.c_attn.weight", true},
    Correspondence{"attention.bias", "attn.c_attn.bias"},
    Correspondence{"mix.weight", "attn.c_proj.weight"},
    Correspondence{"mix.bias", "attn.c_proj.bias"},
    Correspondence{"norm2.gain", "ln_2.weight"},
    Correspondence{"norm2.bias", "ln_2.bias"},
    Correspondence{"widen.weight", "mlp.c_fc.weight", true},
    Correspondence{"widen.bias", "mlp.c_fc.bias"},
    Correspondence{"narrow.weight", "mlp.c_proj.weight"},
    Correspondence{"narrow.bias", "mlp.c_proj.bias"},
};

}  // namespace

Gpt2Tensor gpt2_tensor(const Tensor& tensor) {
  constexpr std::string_view kBlock = "block";
  std::string_view name = tensor.name;
  std::string before;
  std::span<const Correspondence> table = kOutsideBlocks;
  if (name.starts_with(kBlock)) {
    const size_t dot = name.find('.');
    before = "transformer.h." + std::string(name.substr(kBlock.size(), dot - kBlock.size())) + ".";
    name.remove_prefix(dot + 1);
    table = kInBlocks;
  }
  const auto found = std::ranges::find(table, name, &Correspondence::ours);
  Gpt2Tensor theirs{
      .name = before + std::string(found->theirs), .shape = {}, .transposed = found->transposed};
  if (tensor.deviation > 0) theirs.shape.push_back(static_cast<uint64_t>(tensor.rows));
  theirs.shape.push_back(static_cast<uint64_t>(tensor.columns));
  if (theirs.transposed) std::ranges::reverse(theirs.shape);
  return theirs;
}

std::vector<float> transposed(uint64_t rows, uint64_t columns, std::span<const float> matrix) {
  std::vector<float> result(matrix.size());
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t column = 0; column < columns; ++column)
      result[column * rows + row] = matrix[row * columns + column];
  return result;
}

}  // namespace weir::trainer
