// SPDX-License-Identifier: Apache-2.0
/// `config.json` of Hugging Face's models, written and read. Pure.
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "trainer/model/config.h"

namespace weir::trainer {

/// The shape of a model, of the class that corresponds to its form, without dropout.
std::string foreign_config_text(const Config& config);

/// Errors: invalid_argument that names the field, what was expected and what was there, for models that this
/// trainer does not have: other types than "gpt2" and "llama", and what gpt2_config.h and llama_config.h
/// refuse. Fields that are missing have the defaults of the class. Dropout is ignored. The name is
/// "imported".
Result<Config> parse_foreign_config(std::string_view text);

}  // namespace weir::trainer
