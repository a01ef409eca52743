// SPDX-License-Identifier: Apache-2.0

#include "trainer/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace weir::trainer {
namespace {

// Sizes in units of the view box.
constexpr double kWidth = 720, kHeight = 260;
constexpr double kLeft = 64, kRight = 78, kTop = 30, kBottom = 38;
constexpr double kLine = 13;  ///< between lines of text

struct Axis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double from = 0;  ///< coordinate at which `low` is drawn
  double to = 0;
  bool logarithmic = false;

  void cover(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double operator()(double value) const {
    const double part =
        logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + part * (to - from);
  }
  std::vector<double> ticks(int most) const {
    return logarithmic ? logarithmic_ticks(low, high) : ticks_of(low, high, most);
  }
};

/// The label of a tick: 12k, 3.5, 0.02.
std::string tick_words(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (std::abs(value) >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

void draw_axes(std::string& svg, const Axis& x, const Axis& y) {
  const auto out = std::back_inserter(svg);
  for (const double value : y.ticks(5))
    fmt::format_to(out,
                   "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
                   "<text class=\"tick\" text-anchor=\"end\" x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
                   x.from, x.to, y(value), x.from - 6, y(value) + 4, tick_words(value));
  for (const double value : ticks_of(x.low, x.high, static_cast<int>(std::clamp(x.high - x.low, 1.0, 8.0))))
    fmt::format_to(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                   x(value), y.from + 16, tick_words(value));
  fmt::format_to(out, "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">step</text>\n",
                 (x.from + x.to) / 2, y.from + 31);
}

/// A level outside of the axis is named where it would be seen next.
void draw_levels(std::string& svg, const Plot& plot, const Axis& x, const Axis& y) {
  const auto out = std::back_inserter(svg);
  double below = y.from - 4, above = y.to + 11;
  for (const Level& level : plot.levels) {
    const std::string name = fmt::format("{}: {:.4g}", escaped(level.name), level.value);
    if (level.value >= y.low && level.value <= y.high) {
      fmt::format_to(out,
                     "<line class=\"level\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
                     "<text class=\"tick\" x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
                     x.from, x.to, y(level.value), x.from + 4, y(level.value) - 4, name);
      continue;
    }
    const bool is_below = level.value < y.low;
    fmt::format_to(out, "<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\">{} {}</text>\n", x.from + 4,
                   is_below ? below : above, is_below ? "\u2193" : "\u2191", name);
    (is_below ? below : above) += is_below ? -kLine : kLine;
  }
}

void draw_series(std::string& svg, const Series& series, size_t number, const Axis& x, const Axis& y) {
  const auto out = std::back_inserter(svg);
  if (series.dots) {
    for (const auto& [at, value] : series.points)
      if (std::isfinite(value))
        fmt::format_to(
            out,
            "<circle class=\"s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{} {:g}: {:.4g}</title>"
            "</circle>\n",
            number, x(at), y(value), escaped(series.name), at, value);
    return;
  }
  fmt::format_to(out, "<polyline class=\"s{}\" points=\"", number);
  for (const auto& [at, value] : series.points)
    if (std::isfinite(value)) fmt::format_to(out, "{:.1f},{:.1f} ", x(at), y(value));
  svg += "\"/>\n";
}

/// The names beside the curves' ends, far enough from each other to be read.
void draw_names(std::string& svg, const Plot& plot, const Axis& x, const Axis& y) {
  std::vector<std::pair<double, size_t>> ends;  // heights and numbers of series
  for (size_t number = 0; number < plot.series.size(); ++number) {
    const auto& points = plot.series[number].points;
    const auto last = std::find_if(points.rbegin(), points.rend(),
                                   [](const auto& point) { return std::isfinite(point.second); });
    if (last != points.rend()) ends.emplace_back(y(last->second), number);
  }
  std::ranges::sort(ends);
  for (size_t at = 1; at < ends.size(); ++at)
    ends[at].first = std::max(ends[at].first, ends[at - 1].first + kLine);
  // Back into the plot from below.
  double highest = y.from;
  for (size_t at = ends.size(); at-- > 0; highest = ends[at].first - kLine)
    ends[at].first = std::min(ends[at].first, highest);
  for (const auto& [height, number] : ends)
    fmt::format_to(std::back_inserter(svg), "<text class=\"name t{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                   number, x.to + 8, height + 4, escaped(plot.series[number].name));
}

}  // namespace

std::vector<double> ticks_of(double low, double high, int most) {
  double step = std::pow(10, std::floor(std::log10((high - low) / most)));
  for (const double factor : {2.0, 2.5, 2.0}) {  // 1, 2, 5, 10
    if ((high - low) / step <= most) break;
    step *= factor;
  }
  std::vector<double> ticks;
  for (double at = std::ceil(low / step - 1e-9) + 0.0; at * step <= high + step * 1e-9; ++at)
    ticks.push_back(at * step);
  return ticks;
}

std::vector<double> logarithmic_ticks(double low, double high) {
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
    for (const double factor : {1.0, 2.0, 5.0})
      if (factor * power >= low && factor * power <= high) ticks.push_back(factor * power);
  return ticks.size() < 4 ? ticks_of(low, high, 6) : ticks;
}

std::string svg_of(const Plot& plot) {
  Axis x{.from = kLeft, .to = kWidth - kRight}, y{.from = kHeight - kBottom, .to = kTop};
  for (const Series& series : plot.series) {
    for (const auto& [at, value] : series.points) {
      if (!std::isfinite(value)) continue;
      x.cover(at);
      y.cover(value);
    }
  }
  if (x.low > x.high) return "";
  if (plot.from_zero) y.cover(0);
  if (x.low == x.high) x.high += 1;
  if (y.low == y.high) y.high += y.high == 0 ? 1 : std::abs(y.high) * 0.1;
  y.high += 0.04 * (y.high - y.low);
  y.logarithmic = plot.logarithmic && y.low > 0;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n<text class=\"title\" x=\"0\" y=\"18\">{}"
      "<tspan class=\"tick\"> {}</tspan></text>\n",
      kWidth, kHeight, escaped(plot.title), escaped(plot.title), escaped(plot.unit));
  draw_axes(svg, x, y);
  draw_levels(svg, plot, x, y);
  for (size_t number = 0; number < plot.series.size(); ++number)
    draw_series(svg, plot.series[number], number, x, y);
  draw_names(svg, plot, x, y);
  return svg + "</svg>\n";
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += letter;
    }
  }
  return safe;
}

}  // namespace weir::trainer
