// SPDX-License-Identifier: Apache-2.0
/// Parts of texts.
/// Tests: tests/cli/remote_launch_test.cc
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

/// Nullopt: the text is no number, or something follows it.
inline std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

inline std::vector<std::string> split(std::string_view text, char between) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t length = std::min(text.find(between), text.size());
    words.emplace_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return words;
}

}  // namespace weir::cli
