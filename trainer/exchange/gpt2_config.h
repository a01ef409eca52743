// SPDX-License-Identifier: Apache-2.0
/// The fields of Hugging Face's GPT2Config. Pure.
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "trainer/exchange/foreign_config.h"

namespace weir::trainer {

std::string gpt2_config_text(const Config& config);

/// Refuses other activations, another epsilon, scales of attention, widths of the MLP.
Result<Config> read_gpt2_config(const nlohmann::json& all);

}  // namespace weir::trainer
