// SPDX-License-Identifier: Apache-2.0
/// `config.json` of Hugging Face's GPT-2, written and read. Pure.
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "trainer/model/config.h"

namespace weir::trainer {

struct Gpt2Config {
  Config config;      ///< named "imported"
  bool tied = false;  ///< whether the output layer's weights are those of the embedding
};

/// The shape of a model, without dropout and without tied weights.
std::string gpt2_config_text(const Config& config);

/// Errors: invalid_argument that names the field, what was expected and what was there, for models that this
/// trainer does not have: other vocabularies than bytes, other activations, another epsilon, scales of
/// attention, widths of the MLP. Fields that are missing have the defaults of GPT-2. Dropout is ignored.
Result<Gpt2Config> parse_gpt2_config(std::string_view text);

}  // namespace weir::trainer
