// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/config_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace weir::trainer {

using nlohmann::json;

Status parse_json(std::string_view text, json& all) {
  try {
    all = json::parse(text);
  } catch (const json::exception& error) {
    return Status(Code::invalid_argument, fmt::format("is not JSON: {}", error.what()));
  }
  return {};
}

json field(const json& all, const char* name, const json& otherwise) {
  const auto found = all.find(name);
  if (found == all.end()) return otherwise;
  return found->is_structured() ? json(found->type_name()) : *found;
}

Status read_size(const json& all, const char* name, const json& otherwise, Index most, Index& size) {
  const json value = field(all, name, otherwise);
  if (!value.is_number_integer() || value.get<double>() < 1 ||
      value.get<double>() > static_cast<double>(most))
    return Status(Code::invalid_argument,
                  fmt::format("{} is {}; expected a number from 1 to {}", name, value.dump(), most));
  size = value.get<Index>();
  return {};
}

Status read_positive(const json& all, const char* name, double otherwise, float& number) {
  const json value = field(all, name, otherwise);
  number = value.is_number() ? static_cast<float>(value.get<double>()) : 0.0f;
  if (number > 0 && std::isfinite(number)) return {};
  return Status(Code::invalid_argument,
                fmt::format("{} is {}; expected a number above 0", name, value.dump()));
}

Status read_flag(const json& all, const char* name, bool otherwise, bool& flag) {
  const json value = field(all, name, otherwise);
  if (!value.is_boolean())
    return Status(Code::invalid_argument,
                  fmt::format("{} is {}; expected true or false", name, value.dump()));
  flag = value.get<bool>();
  return {};
}

Status check_fixed(const json& all, const char* name, const json& otherwise, const json& expected) {
  const json value = field(all, name, otherwise);
  if (value == expected) return {};
  return Status(Code::invalid_argument,
                fmt::format("{} is {}; expected {}", name, value.dump(), expected.dump()));
}

}  // namespace weir::trainer
