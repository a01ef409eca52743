// SPDX-License-Identifier: Apache-2.0

#include "src/base/text.h"

#include <fmt/format.h>

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <utility>

namespace weir {
namespace {

std::string scaled(double value, std::initializer_list<std::pair<double, const char*>> units) {
  for (const auto& [unit, word] : units) {
    if (value >= unit * 0.9995) return fmt::format("{:.3g} {}", value / unit, word);
  }
  return fmt::format("{:.3g} {}", value / std::prev(units.end())->first, std::prev(units.end())->second);
}

}  // namespace

std::string bytes_words(double bytes) {
  return scaled(bytes, {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}});
}

std::string seconds_words(double seconds) { return scaled(seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}}); }

std::optional<std::string> file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace weir
