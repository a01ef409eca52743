// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/llama_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "trainer/exchange/config_fields.h"

namespace weir::trainer {
namespace {

using nlohmann::json;

Status wrong_llama(std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); }

/// The number that the fewest digits give: 1e-05 instead of the double that the float is.
double in_few_digits(float number) { return json::parse(fmt::format("{}", number)).get<double>(); }

Status check_heads(const json& all, const Config& config) {
  if (config.width % config.heads != 0)
    return wrong_llama(fmt::format("hidden_size is {}; expected a multiple of num_attention_heads, {}",
                                   config.width, config.heads));
  if (config.heads % config.key_value_heads != 0)
    return wrong_llama(
        fmt::format("num_attention_heads is {}; expected a multiple of num_key_value_heads, {}", config.heads,
                    config.key_value_heads));
  const Index size = config.width / config.heads;
  const json given = field(all, "head_dim", nullptr);
  if (!given.is_null() && given != size)
    return wrong_llama(fmt::format("head_dim is {}; expected null or {}, hidden_size / num_attention_heads",
                                   given.dump(), size));
  if (size % 2 != 0)
    return wrong_llama(fmt::format("hidden_size / num_attention_heads is {}; expected an even number", size));
  return {};
}

/// `rope`: the object with the kind of the rotary embedding.
Status read_scaling(const json& rope, RotaryScaling& scaling) {
  const json type = field(rope, rope.contains("rope_type") ? "rope_type" : "type", "default");
  if (type == "default") return {};
  if (type != "llama3")
    return wrong_llama(fmt::format("rope_type is {}; expected \"default\" or \"llama3\"", type.dump()));
  WEIR_TRY(
      read_size(rope, "original_max_position_embeddings", nullptr, kLargestSize, scaling.original_length));
  WEIR_TRY(read_positive(rope, "factor", 0, scaling.factor));
  WEIR_TRY(read_positive(rope, "low_freq_factor", 0, scaling.slow));
  WEIR_TRY(read_positive(rope, "high_freq_factor", 0, scaling.fast));
  if (scaling.fast > scaling.slow) return {};
  return wrong_llama(fmt::format("high_freq_factor is {}; expected more than low_freq_factor, {}",
                                 scaling.fast, scaling.slow));
}

/// Newer releases have the base of the rotary embedding in the object, too.
Status read_rotary(const json& all, Config& config) {
  const auto newer = all.find("rope_parameters"), older = all.find("rope_scaling");
  if (newer != all.end() && newer->is_object()) {
    WEIR_TRY(read_scaling(*newer, config.rotary_scaling));
    return read_positive(*newer, "rope_theta", 10000, config.rotary_base);
  }
  if (older != all.end() && older->is_object())
    WEIR_TRY(read_scaling(*older, config.rotary_scaling));
  else
    WEIR_TRY(check_fixed(all, "rope_scaling", nullptr, nullptr));
  return read_positive(all, "rope_theta", 10000, config.rotary_base);
}

nlohmann::ordered_json scaling_of(const RotaryScaling& scaling) {
  if (scaling.original_length == 0) return nullptr;
  return {{"rope_type", "llama3"},
          {"factor", in_few_digits(scaling.factor)},
          {"low_freq_factor", in_few_digits(scaling.slow)},
          {"high_freq_factor", in_few_digits(scaling.fast)},
          {"original_max_position_embeddings", scaling.original_length}};
}

}  // namespace

std::string llama_config_text(const Config& config) {
  const nlohmann::ordered_json all = {
      {"architectures", {"LlamaForCausalLM"}},
      {"model_type", "llama"},
      {"vocab_size", config.vocabulary},
      {"max_position_embeddings", config.length},
      {"hidden_size", config.width},
      {"intermediate_size", config.hidden},
      {"num_hidden_layers", config.layers},
      {"num_attention_heads", config.heads},
      {"num_key_value_heads", config.key_value_heads},
      {"hidden_act", "silu"},
      {"rms_norm_eps", in_few_digits(config.epsilon)},
      {"rope_theta", in_few_digits(config.rotary_base)},
      {"rope_scaling", scaling_of(config.rotary_scaling)},
      {"attention_bias", false},
      {"mlp_bias", false},
      {"attention_dropout", 0.0},
      {"tie_word_embeddings", config.tied},
      {"initializer_range", 0.02},
      {"bos_token_id", nullptr},
      {"eos_token_id", nullptr},
      {"torch_dtype", "float32"},
  };
  return all.dump(2) + "\n";
}

Result<Config> read_llama_config(const json& all) {
  Config config;
  config.name = "imported";
  config.form = Form::llama;
  WEIR_TRY(read_size(all, "num_hidden_layers", 32, kMostLayers, config.layers));
  WEIR_TRY(read_size(all, "hidden_size", 4096, kLargestSize, config.width));
  WEIR_TRY(read_size(all, "num_attention_heads", 32, config.width, config.heads));
  const bool shared = !field(all, "num_key_value_heads", nullptr).is_null();
  config.key_value_heads = config.heads;
  if (shared) WEIR_TRY(read_size(all, "num_key_value_heads", nullptr, config.heads, config.key_value_heads));
  WEIR_TRY(read_size(all, "intermediate_size", 11008, kLargestSize, config.hidden));
  WEIR_TRY(read_size(all, "vocab_size", 32000, kLargestSize, config.vocabulary));
  WEIR_TRY(read_size(all, "max_position_embeddings", 2048, kLargestSize, config.length));
  WEIR_TRY(check_heads(all, config));
  WEIR_TRY(read_positive(all, "rms_norm_eps", 1e-6, config.epsilon));
  WEIR_TRY(read_rotary(all, config));
  WEIR_TRY(check_fixed(all, "hidden_act", "silu", "silu"));
  WEIR_TRY(check_fixed(all, "attention_bias", false, false));
  WEIR_TRY(check_fixed(all, "mlp_bias", false, false));
  WEIR_TRY(read_flag(all, "tie_word_embeddings", false, config.tied));
  return config;
}

}  // namespace weir::trainer
