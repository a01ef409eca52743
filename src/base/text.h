// SPDX-License-Identifier: Apache-2.0
/// Small helpers to parse option values and to format values for readers.
/// Tests: tests/base/text_test.cc
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// Splits a text at separators; empty parts are omitted.
inline std::vector<std::string_view> split_list(std::string_view text, char separator = ',') {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// A count with its noun: "1 GPU", "2 GPUs", "2 switches", "2 leaves".
inline std::string plural(int64_t count, std::string_view word) {
  if (count != 1 && word == "leaf") return std::to_string(count) + " leaves";
  const char* const ending = count == 1 ? "" : word.ends_with("ch") || word.ends_with("ss") ? "es" : "s";
  return std::to_string(count).append(" ").append(word).append(ending);
}

/// Formats a number of bytes: "1.5 GB", "20 MB", "0 B": three digits, powers of 1000.
std::string bytes_words(double bytes);
/// Formats a time: "1.5 s", "20 ms", "3.2 us": three digits.
std::string seconds_words(double seconds);

/// All of a file, which may be one of /proc without a size; nullopt: it cannot be opened.
std::optional<std::string> file_text(const std::string& path);

/// Compares two texts ignoring case; ASCII only.
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) != std::tolower(static_cast<unsigned char>(b[i])))
      return false;
  }
  return true;
}

}  // namespace weir
