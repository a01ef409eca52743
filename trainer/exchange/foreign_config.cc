// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/foreign_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "trainer/exchange/config_fields.h"
#include "trainer/exchange/gpt2_config.h"
#include "trainer/exchange/llama_config.h"

namespace weir::trainer {

std::string foreign_config_text(const Config& config) {
  return config.form == Form::llama ? llama_config_text(config) : gpt2_config_text(config);
}

Result<Config> parse_foreign_config(std::string_view text) {
  using nlohmann::json;
  const auto wrong = [](std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); };
  json all;
  WEIR_TRY(parse_json(text, all));
  if (!all.is_object()) return wrong(fmt::format("is JSON's {}; expected an object", all.type_name()));
  const json type = field(all, "model_type", nullptr);
  if (type == "gpt2") return read_gpt2_config(all);
  if (type == "llama") return read_llama_config(all);
  return wrong(fmt::format("model_type is {}; expected \"gpt2\" or \"llama\"", type.dump()));
}

}  // namespace weir::trainer
