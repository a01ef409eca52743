// SPDX-License-Identifier: Apache-2.0
/// Formatting of error messages.
#pragma once

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir_torch {

/// Formats "5.0 s".
inline std::string seconds(std::chrono::milliseconds time) {
  char text[32];
  if (time.count() < 100)
    std::snprintf(text, sizeof(text), "%lld ms", static_cast<long long>(time.count()));
  else
    std::snprintf(text, sizeof(text), "%.1f s", static_cast<double>(time.count()) / 1e3);
  return text;
}

/// Ends the sentence about a wait that was too long. Programs look for Gloo's words.
inline std::string timed_out(std::chrono::milliseconds timeout) {
  return "; the wait timed out (Gloo: Timed out waiting " + std::to_string(timeout.count()) + "ms)";
}

/// Formats "rank 3", "ranks 1, 3".
inline std::string ranks(const std::vector<int>& numbers) {
  std::string text = numbers.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text;
}

/// Throws; PyTorch turns C++ exceptions into a RuntimeError in Python.
[[noreturn]] inline void refuse(const std::string& sentence) {
  throw std::runtime_error("weir: " + sentence);
}

}  // namespace weir_torch
