// SPDX-License-Identifier: Apache-2.0
/// The fields of Hugging Face's LlamaConfig. Pure.
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "trainer/exchange/foreign_config.h"

namespace weir::trainer {

std::string llama_config_text(const Config& config);

/// Refuses other activations than SiLU, biases, scaled rotary embedding, heads of another size than
/// hidden_size / num_attention_heads, and odd ones. Reads the base of the rotary embedding from `rope_theta`
/// or, as newer releases write it, from `rope_parameters`.
Result<Config> read_llama_config(const nlohmann::json& all);

}  // namespace weir::trainer
