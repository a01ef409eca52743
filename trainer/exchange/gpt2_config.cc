// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/gpt2_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace weir::trainer {
namespace {

using nlohmann::json;

constexpr Index kMostLayers = 1000;
constexpr Index kLargestWidth = Index{1} << 20;
constexpr double kEpsilon = 1e-5;  ///< of our layer norms (row_parts.h)

Status wrong(std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); }

/// A field, or what GPT-2 has if there is none. Lists and objects, of which no field consists, become their
/// names: deep ones would be copied and printed by as many nested calls.
json field(const json& all, const char* name, json otherwise) {
  const auto found = all.find(name);
  if (found == all.end()) return otherwise;
  return found->is_structured() ? json(found->type_name()) : *found;
}

Status read_size(const json& all, const char* name, Index otherwise, Index most, Index& size) {
  const json value = field(all, name, otherwise);
  if (!value.is_number_integer() || value.get<double>() < 1 ||
      value.get<double>() > static_cast<double>(most))
    return wrong(fmt::format("{} is {}; expected a number from 1 to {}", name, value.dump(), most));
  size = value.get<Index>();
  return {};
}

/// What must be so in all models, since this trainer has no other.
Status check_form(const json& all, Index width) {
  const std::pair<const char*, std::pair<json, json>> kFixed[] = {
      // name, the value that GPT-2 has by default, the value that we have
      {"vocab_size", {50257, kVocabulary}},
      {"scale_attn_weights", {true, true}},
      {"scale_attn_by_inverse_layer_idx", {false, false}},
      {"add_cross_attention", {false, false}},
  };
  for (const auto& [name, values] : kFixed) {
    const json value = field(all, name, values.first);
    if (value != values.second)
      return wrong(fmt::format("{} is {}; expected {}", name, value.dump(), values.second.dump()));
  }
  const json epsilon = field(all, "layer_norm_epsilon", kEpsilon);
  if (!epsilon.is_number() || epsilon.get<double>() != kEpsilon)
    return wrong(fmt::format("layer_norm_epsilon is {}; expected 1e-05", epsilon.dump()));
  const json inner = field(all, "n_inner", nullptr);
  if (!inner.is_null() && inner != 4 * width)
    return wrong(
        fmt::format("n_inner is {}; expected null or {}, four times n_embd", inner.dump(), 4 * width));
  const json activation = field(all, "activation_function", "gelu_new");
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh")
    return wrong(
        fmt::format("activation_function is {}; expected \"gelu_new\", GELU's tanh form", activation.dump()));
  return {};
}

}  // namespace

std::string gpt2_config_text(const Config& config) {
  const nlohmann::ordered_json all = {
      {"architectures", {"GPT2LMHeadModel"}},
      {"model_type", "gpt2"},
      {"vocab_size", kVocabulary},
      {"n_positions", config.length},
      {"n_embd", config.width},
      {"n_layer", config.layers},
      {"n_head", config.heads},
      {"n_inner", nullptr},
      {"activation_function", "gelu_new"},
      {"layer_norm_epsilon", kEpsilon},
      {"scale_attn_weights", true},
      {"tie_word_embeddings", false},
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

Result<Gpt2Config> parse_gpt2_config(std::string_view text) {
  json all;
  try {
    all = json::parse(text);
  } catch (const json::exception& error) {
    return wrong(fmt::format("is not JSON: {}", error.what()));
  }
  if (!all.is_object()) return wrong(fmt::format("is JSON's {}; expected an object", all.type_name()));
  const json type = field(all, "model_type", nullptr);
  if (type != "gpt2") return wrong(fmt::format("model_type is {}; expected \"gpt2\"", type.dump()));
  Gpt2Config read;
  Config& config = read.config;
  config.name = "imported";
  WEIR_TRY(read_size(all, "n_layer", 12, kMostLayers, config.layers));
  WEIR_TRY(read_size(all, "n_embd", 768, kLargestWidth, config.width));
  WEIR_TRY(read_size(all, "n_head", 12, config.width, config.heads));
  WEIR_TRY(read_size(all, "n_positions", 1024, kLargestWidth, config.length));
  if (config.width % config.heads != 0)
    return wrong(fmt::format("n_embd is {}; expected a multiple of n_head, {}", config.width, config.heads));
  WEIR_TRY(check_form(all, config.width));
  const json tied = field(all, "tie_word_embeddings", true);
  if (!tied.is_boolean())
    return wrong(fmt::format("tie_word_embeddings is {}; expected true or false", tied.dump()));
  read.tied = tied.get<bool>();
  return read;
}

}  // namespace weir::trainer
