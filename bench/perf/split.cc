// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/split.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace weir::perf {
namespace {

/// Parses decimal, 0x hexadecimal or 0b binary numbers.
std::optional<int> read_number(std::string_view text, int base = 10) {
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X"))
    base = 16, digits.remove_prefix(2);
  else if (digits.starts_with("0b") || digits.starts_with("0B"))
    base = 2, digits.remove_prefix(2);
  int value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<std::function<int(int)>> parse(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  size_t letters = text.find_first_of(" 0123456789");
  if (letters == std::string_view::npos) return std::nullopt;
  std::string_view operation = text.substr(0, letters);
  text.remove_prefix(std::min(text.find_first_not_of(' ', letters), text.size()));
  std::optional<int> number = read_number(text);
  if (!number) return std::nullopt;
  const int n = *number;
  if (operation == "AND" || operation == "&") return [n](int process) { return process & n; };
  if (operation == "OR" || operation == "|") return [n](int process) { return process | n; };
  if (n == 0) return std::nullopt;
  if (operation == "MOD" || operation == "%") return [n](int process) { return process % n; };
  if (operation == "DIV" || operation == "/") return [n](int process) { return process / n; };
  return std::nullopt;
}

}  // namespace

Outcome find_split(const Lookup& lookup, std::function<int(int)>* group_of) {
  *group_of = [](int) { return 0; };
  if (const char* text = lookup("NCCL_TESTS_SPLIT_MASK")) {
    std::optional<int> mask = read_number(text, 16);
    if (!mask)
      return Outcome::failure(
          ExitCode::usage, fmt::format("NCCL_TESTS_SPLIT_MASK is '{}'; expected a hexadecimal number", text));
    *group_of = [mask = *mask](int process) { return process & mask; };
  } else if (const char* split = lookup("NCCL_TESTS_SPLIT")) {
    std::optional<std::function<int(int)>> parsed = parse(split);
    if (!parsed)
      return Outcome::failure(
          ExitCode::usage,
          fmt::format("NCCL_TESTS_SPLIT is '{}'; expected AND, OR, MOD or DIV (& | % /) and a "
                      "number, for example 'MOD 2'",
                      split));
    *group_of = *parsed;
  }
  return Outcome();
}

GroupPlace place_in_group(const std::function<int(int)>& group_of, int process, int processes) {
  GroupPlace place{group_of(process), -1, 0, 0};
  for (int other = 0; other < processes; ++other) {
    if (group_of(other) != place.group) continue;
    if (place.first < 0) place.first = other;
    if (other < process) ++place.index;
    ++place.size;
  }
  return place;
}

}  // namespace weir::perf
