// SPDX-License-Identifier: Apache-2.0
/// Fields of a JSON object, read by name; what is left over, missing or wrong is an error that says where.
///
/// Readers go on after an error with a value that is allowed, and the first error counts: callers check once.
/// One thread at a time.
/// Tests: tests/trainer/plan_models_file_test.cc
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace weir::trainer::plan {

class JsonFields {
 public:
  /// `value` and `error` outlive it; the first error is kept in `error`. `place` is for errors, such as
  /// "file.json: models[2]".
  JsonFields(const nlohmann::json& value, std::string place, Status& error);

  bool has(const char* name) const { return value_.contains(name); }
  /// A number in [lowest, highest]; `otherwise` if there is no such field, which is an error without it.
  double number(const char* name, double lowest, double highest, std::optional<double> otherwise = {});
  int whole(const char* name, int lowest, int highest, std::optional<int> otherwise = {});
  std::string text(const char* name, std::optional<std::string> otherwise = {});
  /// False if there is no such field.
  bool flag(const char* name);
  /// The place of a text in a list of choices.
  size_t one_of(const char* name, std::span<const std::string_view> choices,
                std::optional<size_t> otherwise = {});
  /// Whether the field is this word.
  bool is(const char* name, std::string_view word);
  /// The texts of a list, or one text alone; empty if there is no such field.
  std::vector<std::string> texts(const char* name);
  /// The objects of a list; empty if there is no such field.
  std::vector<JsonFields> objects(const char* name);
  /// An object; one without fields if there is no such field.
  JsonFields object(const char* name);
  /// The names of the fields that were not read yet, which then count as read.
  std::vector<std::string> others();

  /// Keeps the error "place: sentence".
  void refuse(std::string_view sentence);
  /// Keeps an error if a field was not read.
  void end();
  const std::string& place() const { return place_; }

 private:
  const nlohmann::json* find(const char* name, bool required);
  void expect(const char* name, std::string_view what);

  const nlohmann::json& value_;
  std::string place_;
  Status& error_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace weir::trainer::plan
