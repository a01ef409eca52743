// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <ctime>

namespace weir::perf {
namespace {

std::optional<double> multiple(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix.size() != 1) return std::nullopt;
  switch (suffix[0]) {
    case 'k':
    case 'K': return 0x1p10;
    case 'm':
    case 'M': return 0x1p20;
    case 'g':
    case 'G': return 0x1p30;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<size_t> parse_size(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::optional<double> unit = multiple(text.substr(static_cast<size_t>(end - text.data())));
  if (!unit || !(number >= 0) || !(number * *unit < 0x1p62)) return std::nullopt;
  return static_cast<size_t>(number * *unit);
}

std::string fit(double value, int width) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  // The digits before the decimal point decide, so that rounding up never changes the form.
  int digits = 0;
  for (double power = 1; value >= power; power *= 10) ++digits;
  if (digits < width - 2) return fmt::format("{:.2f}", value);
  if (digits < width - 1) return fmt::format("{:.1f}", value);
  if (digits <= width) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}e}", value, width >= 7 ? 1 : 0);
}

std::string now_text() {
  time_t now = time(nullptr);
  tm local{};
  localtime_r(&now, &local);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

}  // namespace weir::perf
