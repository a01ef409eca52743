// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weir::trainer::plan {

Words::Words(std::string place, std::string_view line) : place_(std::move(place)) {
  line = line.substr(0, line.find('#'));
  constexpr std::string_view blanks = " \t\r";
  for (size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    words_.emplace_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
}

bool Words::take(std::string_view word) {
  if (empty() || words_[at_] != word) return false;
  ++at_;
  return true;
}

Result<std::string> Words::word(std::string_view what) {
  if (empty()) return refuse(fmt::format("the line ends; expected {}", what));
  return words_[at_++];
}

Result<int> Words::one_of(std::string_view what, const std::vector<std::string_view>& choices) {
  const auto found = word(what);
  WEIR_TRY(found.status());
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == *found) return static_cast<int>(i);
  return refuse(fmt::format("'{}'; expected {}: {}", *found, what, fmt::join(choices, ", ")));
}

Result<double> Words::number(std::string_view what, double lowest, double highest) {
  const auto text = word(what);
  WEIR_TRY(text.status());
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !(value >= lowest && value <= highest))
    return refuse(fmt::format("'{}'; expected {}, a number from {} to {}", *text, what, lowest, highest));
  return value;
}

Result<int> Words::integer(std::string_view what, int lowest, int highest) {
  const auto value = number(what, lowest, highest);
  WEIR_TRY(value.status());
  if (*value != std::floor(*value))
    return refuse(fmt::format("{}; expected {}, a whole number", *value, what));
  return static_cast<int>(*value);
}

Status Words::end() {
  if (empty()) return {};
  return refuse(fmt::format("unexpected '{}'; expected the end of the line", words_[at_]));
}

std::string Words::rest() {
  std::string text =
      fmt::format("{}", fmt::join(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end(), " "));
  at_ = words_.size();
  return text;
}

Status Words::refuse(std::string_view sentence) const {
  return {Code::invalid_argument, fmt::format("{}: {}", place_, sentence)};
}

}  // namespace weir::trainer::plan
