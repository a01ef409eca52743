// SPDX-License-Identifier: Apache-2.0
/// An element of a JSON text that knows its place, so that messages can name it. Only for .cc files, because
/// the header of nlohmann is large.
///
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/status.h"

namespace weir::mscclpp {

class JsonElement {
 public:
  JsonElement(const nlohmann::json& value, std::string place) : value_(&value), place_(std::move(place)) {}

  Status refuse(const std::string& sentence) const {
    return {Code::invalid_argument, fmt::format("{}: {}", place_, sentence)};
  }
  const std::string& place() const { return place_; }

  bool has(const char* key) const { return value_->is_object() && value_->contains(key); }
  /// REQUIRES: has(key).
  JsonElement at(const char* key) const { return {(*value_)[key], place_}; }
  /// The element `number` of a list. REQUIRES: list() succeeded, and number < size().
  JsonElement item(size_t number, const std::string& place) const { return {(*value_)[number], place}; }
  size_t size() const { return value_->size(); }

  Status object() const {
    return value_->is_object() ? Status()
                               : refuse(fmt::format("found {}; expected an object", value_->type_name()));
  }
  /// The list under a key. Errors: it is missing, or no list.
  Result<JsonElement> list(const char* key) const {
    if (!has(key) || !(*value_)[key].is_array())
      return refuse(fmt::format("no list \"{}\"; expected one", key));
    return at(key);
  }
  Status get(const char* key, std::string& text) const {
    if (!has(key) || !(*value_)[key].is_string())
      return refuse(fmt::format("no text \"{}\"; expected one", key));
    text = (*value_)[key].get<std::string>();
    return {};
  }
  template <typename Number>
  Status get(const char* key, uint64_t least, uint64_t most, Number& number) const {
    if (!has(key)) return refuse(fmt::format("no number \"{}\"; expected {} to {}", key, least, most));
    return at(key).number(key, least, most, number);
  }
  /// This element itself as a number; `key` is its name.
  template <typename Number>
  Status number(const char* key, uint64_t least, uint64_t most, Number& number) const {
    const bool is_number = value_->is_number_unsigned();
    const uint64_t found = is_number ? value_->get<uint64_t>() : 0;
    if (!is_number || found < least || found > most)
      return refuse(fmt::format(
          "\"{}\" is {}; expected {} to {}", key,
          value_->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).substr(0, 40), least, most));
    number = static_cast<Number>(found);
    return {};
  }
  bool flag(const char* key) const {
    return has(key) && (*value_)[key].is_boolean() && (*value_)[key].get<bool>();
  }

 private:
  const nlohmann::json* value_;
  std::string place_;
};

}  // namespace weir::mscclpp
