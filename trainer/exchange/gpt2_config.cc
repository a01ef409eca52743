// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/gpt2_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "trainer/exchange/config_fields.h"

namespace weir::trainer {
namespace {

using nlohmann::json;

constexpr double kLayerNormEpsilon = 1e-5;  ///< of our layer norms (row_parts.h)

Status wrong_gpt2(std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); }

/// What must be so in all models, since this trainer has no other.
Status check_form(const json& all, Index width) {
  WEIR_TRY(check_fixed(all, "scale_attn_weights", true, true));
  WEIR_TRY(check_fixed(all, "scale_attn_by_inverse_layer_idx", false, false));
  WEIR_TRY(check_fixed(all, "add_cross_attention", false, false));
  const json epsilon = field(all, "layer_norm_epsilon", kLayerNormEpsilon);
  if (!epsilon.is_number() || epsilon.get<double>() != kLayerNormEpsilon)
    return wrong_gpt2(fmt::format("layer_norm_epsilon is {}; expected 1e-05", epsilon.dump()));
  const json inner = field(all, "n_inner", nullptr);
  if (!inner.is_null() && inner != 4 * width)
    return wrong_gpt2(
        fmt::format("n_inner is {}; expected null or {}, four times n_embd", inner.dump(), 4 * width));
  const json activation = field(all, "activation_function", "gelu_new");
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh")
    return wrong_gpt2(
        fmt::format("activation_function is {}; expected \"gelu_new\", GELU's tanh form", activation.dump()));
  return {};
}

}  // namespace

std::string gpt2_config_text(const Config& config) {
  const nlohmann::ordered_json all = {
      {"architectures", {"GPT2LMHeadModel"}},
      {"model_type", "gpt2"},
      {"vocab_size", config.vocabulary},
      {"n_positions", config.length},
      {"n_embd", config.width},
      {"n_layer", config.layers},
      {"n_head", config.heads},
      {"n_inner", nullptr},
      {"activation_function", "gelu_new"},
      {"layer_norm_epsilon", kLayerNormEpsilon},
      {"scale_attn_weights", true},
      {"tie_word_embeddings", config.tied},
      {"attn_pdrop", 0.0},
      {"embd_pdrop", 0.0},
      {"resid_pdrop", 0.0},
      {"initializer_range", 0.02},
      {"bos_token_id", nullptr},
      {"eos_token_id", nullptr},
      {"torch_dtype", "float32"},
  };
  return all.dump(2) + "\n";
}

Result<Config> read_gpt2_config(const json& all) {
  Config config;
  config.name = "imported";
  WEIR_TRY(read_size(all, "n_layer", 12, kMostLayers, config.layers));
  WEIR_TRY(read_size(all, "n_embd", 768, kLargestSize, config.width));
  WEIR_TRY(read_size(all, "n_head", 12, config.width, config.heads));
  WEIR_TRY(read_size(all, "vocab_size", 50257, kLargestSize, config.vocabulary));
  WEIR_TRY(read_size(all, "n_positions", 1024, kLargestSize, config.length));
  if (config.width % config.heads != 0)
    return wrong_gpt2(
        fmt::format("n_embd is {}; expected a multiple of n_head, {}", config.width, config.heads));
  WEIR_TRY(check_form(all, config.width));
  WEIR_TRY(read_flag(all, "tie_word_embeddings", true, config.tied));
  return config;
}

}  // namespace weir::trainer
