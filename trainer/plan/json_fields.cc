// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::trainer::plan {
namespace {

using nlohmann::json;

constexpr size_t kMostShown = 60;
const json kNoFields = json::object();

}  // namespace

JsonFields::JsonFields(const json& value, std::string place, Status& error)
    : value_(value.is_object() ? value : kNoFields), place_(std::move(place)), error_(error) {
  if (!value.is_object()) refuse(fmt::format("is {}; expected an object", value.type_name()));
}

const json* JsonFields::find(const char* name, bool required) {
  read_.emplace(name);
  const auto found = value_.find(name);
  if (found != value_.end()) return &*found;
  if (required) refuse(fmt::format("the field \"{}\" is missing", name));
  return nullptr;
}

void JsonFields::expect(const char* name, std::string_view what) {
  // Structures may be too deep to be printed.
  const json& value = value_[name];
  const std::string shown = value.is_structured() ? value.type_name() : value.dump().substr(0, kMostShown);
  refuse(fmt::format("\"{}\" is {}; expected {}", name, shown, what));
}

double JsonFields::number(const char* name, double lowest, double highest, std::optional<double> otherwise) {
  const json* value = find(name, !otherwise);
  if (value == nullptr) return otherwise.value_or(lowest);
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (number >= lowest && number <= highest) return number;
  expect(name, fmt::format("a number from {} to {}", lowest, highest));
  return lowest;
}

int JsonFields::whole(const char* name, int lowest, int highest, std::optional<int> otherwise) {
  const json* value = find(name, !otherwise);
  if (value == nullptr) return otherwise.value_or(lowest);
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (number >= lowest && number <= highest && number == std::floor(number)) return static_cast<int>(number);
  expect(name, fmt::format("a whole number from {} to {}", lowest, highest));
  return lowest;
}

std::string JsonFields::text(const char* name, std::optional<std::string> otherwise) {
  const json* value = find(name, !otherwise);
  if (value == nullptr) return otherwise.value_or("");
  if (value->is_string()) return value->get<std::string>();
  expect(name, "a text");
  return "";
}

bool JsonFields::flag(const char* name) {
  const json* value = find(name, false);
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  expect(name, "true or false");
  return false;
}

size_t JsonFields::one_of(const char* name, std::span<const std::string_view> choices,
                          std::optional<size_t> otherwise) {
  const json* value = find(name, !otherwise);
  if (value == nullptr) return otherwise.value_or(0);
  for (size_t at = 0; at < choices.size(); ++at)
    if (value->is_string() && value->get_ref<const std::string&>() == choices[at]) return at;
  expect(name, fmt::format("one of {}", fmt::join(choices, ", ")));
  return 0;
}

bool JsonFields::is(const char* name, std::string_view word) {
  const auto found = value_.find(name);
  if (found == value_.end() || !found->is_string() || found->get_ref<const std::string&>() != word)
    return false;
  read_.emplace(name);
  return true;
}

std::vector<std::string> JsonFields::texts(const char* name) {
  const json* value = find(name, false);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (value->is_array() && std::ranges::all_of(*value, [](const json& each) { return each.is_string(); }))
    return value->get<std::vector<std::string>>();
  expect(name, "a text, or a list of texts");
  return {};
}

std::vector<JsonFields> JsonFields::objects(const char* name) {
  const json* value = find(name, false);
  std::vector<JsonFields> all;
  if (value == nullptr) return all;
  if (!value->is_array()) expect(name, "a list of objects");
  if (value->is_array())
    for (size_t at = 0; at < value->size(); ++at)
      all.emplace_back((*value)[at], fmt::format("{}: {}[{}]", place_, name, at), error_);
  return all;
}

JsonFields JsonFields::object(const char* name) {
  const json* value = find(name, false);
  return {value == nullptr ? kNoFields : *value, fmt::format("{}: {}", place_, name), error_};
}

std::vector<std::string> JsonFields::others() {
  std::vector<std::string> names;
  for (const auto& field : value_.items())
    if (read_.insert(field.key()).second) names.push_back(field.key());
  return names;
}

void JsonFields::refuse(std::string_view sentence) {
  if (error_.ok()) error_ = Status(Code::invalid_argument, fmt::format("{}: {}", place_, sentence));
}

void JsonFields::end() {
  const std::vector<std::string> left = others();
  if (!left.empty())
    refuse(fmt::format("there is an unknown field \"{}\"", left.front().substr(0, kMostShown)));
}

}  // namespace weir::trainer::plan
