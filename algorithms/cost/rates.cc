// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cost/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "src/base/text.h"

namespace weir::cost {
namespace {

struct Figure {
  std::string_view name;
  double& (*of)(Rates& rates);
};

constexpr std::array kFigures = {
    Figure{"inside.alpha", [](Rates& r) -> double& { return r.inside.alpha; }},
    Figure{"inside.overhead", [](Rates& r) -> double& { return r.inside.overhead; }},
    Figure{"inside.beta", [](Rates& r) -> double& { return r.inside.beta; }},
    Figure{"between.alpha", [](Rates& r) -> double& { return r.between.alpha; }},
    Figure{"between.overhead", [](Rates& r) -> double& { return r.between.overhead; }},
    Figure{"between.beta", [](Rates& r) -> double& { return r.between.beta; }},
    Figure{"between.wire", [](Rates& r) -> double& { return r.between.wire; }},
    Figure{"between.merging", [](Rates& r) -> double& { return r.between.merging; }},
    Figure{"between.unasked", [](Rates& r) -> double& { return r.between.unasked; }},
    Figure{"gamma", [](Rates& r) -> double& { return r.gamma; }},
};

Status wrong(int line, std::string_view text, std::string_view expected) {
  return {Code::invalid_usage, fmt::format("line {}, \"{}\": expected {}", line, text, expected)};
}

std::string all_names() {
  std::string names;
  for (const Figure& figure : kFigures) names += fmt::format("{}{}", names.empty() ? "" : ", ", figure.name);
  return names;
}

}  // namespace

Rates slower(const Rates& a, const Rates& b) {
  Rates both = a;
  Rates other = b;
  for (const Figure& figure : kFigures) figure.of(both) = std::max(figure.of(both), figure.of(other));
  return both;
}

std::string text_of(const Rates& rates) {
  std::string text;
  Rates copy = rates;
  for (const Figure& figure : kFigures) text += fmt::format("{} {}\n", figure.name, figure.of(copy));
  return text;
}

Result<Rates> read_rates(std::string_view text, const Rates& otherwise) {
  Rates rates = otherwise;
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const auto words = split_list(whole.substr(0, std::min(whole.find('#'), whole.size())), ' ');
    if (words.empty()) continue;
    const auto* figure = std::find_if(kFigures.begin(), kFigures.end(),
                                      [&](const Figure& known) { return known.name == words[0]; });
    if (figure == kFigures.end()) return wrong(number, whole, "one of " + all_names() + " and a figure");
    const std::string value(words.size() == 2 ? words[1] : "");
    char* rest = nullptr;
    const double amount = std::strtod(value.c_str(), &rest);
    if (value.empty() || *rest != '\0' || !std::isfinite(amount) || amount < 0)
      return wrong(number, whole, "a name and a number, zero or more");
    figure->of(rates) = amount;
  }
  return rates;
}

}  // namespace weir::cost
