// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/foreign_tensor.h"

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

constexpr std::array kOutsideGpt2Blocks = {
    Correspondence{"embedding.tokens", "transformer.wte.weight"},
    Correspondence{"embedding.positions", "transformer.wpe.weight"},
    Correspondence{"head.norm.gain", "transformer.ln_f.weight"},
    Correspondence{"head.norm.bias", "transformer.ln_f.bias"},
    Correspondence{"head.weight", kForeignHead, true},
};

constexpr std::array kInGpt2Blocks = {
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

constexpr std::array kOutsideLlamaBlocks = {
    Correspondence{"embedding.tokens", "model.embed_tokens.weight"},
    Correspondence{"head.norm.gain", "model.norm.weight"},
    Correspondence{"head.weight", kForeignHead, true},
};

constexpr std::array kInLlamaBlocks = {
    Correspondence{"norm1.gain", "input_layernorm.weight"},
    Correspondence{"query.weight", "self_attn.q_proj.weight"},
    Correspondence{"key.weight", "self_attn.k_proj.weight"},
    Correspondence{"value.weight", "self_attn.v_proj.weight"},
    Correspondence{"mix.weight", "self_attn.o_proj.weight", true},
    Correspondence{"norm2.gain", "post_attention_layernorm.weight"},
    Correspondence{"gate.weight", "mlp.gate_proj.weight"},
    Correspondence{"up.weight", "mlp.up_proj.weight"},
    Correspondence{"down.weight", "mlp.down_proj.weight", true},
};

}  // namespace

ForeignTensor foreign_tensor(Form form, const Tensor& tensor) {
  using Table = std::span<const Correspondence>;
  constexpr std::string_view kBlock = "block";
  const bool is_llama = form == Form::llama;
  std::string_view name = tensor.name;
  std::string before;
  Table table = is_llama ? Table(kOutsideLlamaBlocks) : Table(kOutsideGpt2Blocks);
  if (name.starts_with(kBlock)) {
    const size_t dot = name.find('.');
    before = is_llama ? "model.layers." : "transformer.h.";
    before += std::string(name.substr(kBlock.size(), dot - kBlock.size())) + ".";
    name.remove_prefix(dot + 1);
    table = is_llama ? Table(kInLlamaBlocks) : Table(kInGpt2Blocks);
  }
  const auto found = std::ranges::find(table, name, &Correspondence::ours);
  ForeignTensor theirs{
      .name = before + std::string(found->theirs), .shape = {}, .transposed = found->transposed};
  if (tensor.deviation > 0) theirs.shape.push_back(static_cast<uint64_t>(tensor.rows));
  theirs.shape.push_back(static_cast<uint64_t>(tensor.columns));
  if (theirs.transposed) std::ranges::reverse(theirs.shape);
  return theirs;
}

const char* foreign_prefix(Form form) { return form == Form::llama ? "model." : "transformer."; }

const char* foreign_embedding(Form form) {
  return form == Form::llama ? "model.embed_tokens.weight" : "transformer.wte.weight";
}

std::vector<float> transposed(uint64_t rows, uint64_t columns, std::span<const float> matrix) {
  std::vector<float> result(matrix.size());
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t column = 0; column < columns; ++column)
      result[column * rows + row] = matrix[row * columns + column];
  return result;
}

}  // namespace weir::trainer
