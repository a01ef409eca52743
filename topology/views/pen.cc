// SPDX-License-Identifier: Apache-2.0

#include "topology/views/pen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "src/base/text.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

constexpr double kSlimmest = 1.2;
constexpr double kWidest = 9;
constexpr double kLabelSize = 10.5;
constexpr double kLineHeight = 1.3;
constexpr size_t kMostSamples = 12;

/// "24 links", "8 times 18 links of 25 GB/s".
std::string remark(const Bundle& bundle, int64_t times) {
  if (bundle.b < 0) return fmt::format("of {} to the network", plural(times, "NIC"));
  const char* what = bundle.kind == LinkKind::cable ? "cable" : "link";
  if (bundle.count == 1) return plural(times, what);
  std::string text = times == 1 ? "" : fmt::format("{} times ", times);
  text += plural(bundle.count, what);
  return bundle.each > 0 ? fmt::format("{} of {}", text, rate(bundle.each)) : text;
}

std::string speed(const Bundle& bundle) {
  if (!is_limit(bundle.kind, bundle.gb_per_s())) return "no limit";
  return bundle.gb_per_s() > 0 ? rate(bundle.gb_per_s()) : "speed not known";
}

}  // namespace

Rect Text::rect() const {
  const double wide = text_width(text, size, bold());
  return {centered ? x - wide / 2 : x, y - 0.8 * size, wide, 1.05 * size};
}

Strokes::Strokes(double most) : most_(most), widest_(std::clamp(0.42 * std::sqrt(most), 3.0, kWidest)) {}

double Strokes::width(double gb_per_s) const {
  if (most_ <= 0 || gb_per_s <= 0) return kSlimmest;
  return std::clamp(widest_ * std::pow(gb_per_s / most_, 0.7), kSlimmest, kWidest);
}

int Pen::box(const Rect& rect, BoxStyle style, std::string facts, bool pile) {
  drawing.boxes.push_back({rect, style, pile, std::move(facts), -1});
  return static_cast<int>(drawing.boxes.size()) - 1;
}

void Pen::write(int box, const std::vector<Line>& lines) {
  const Rect& inside = rect(box);
  double height = 0;
  for (const Line& line : lines) height += line.text.empty() ? 0 : line.size * kLineHeight;
  double y = inside.center() - height / 2;
  for (const Line& line : lines) {
    if (line.text.empty()) continue;
    Text text{line.text, inside.middle(), y + line.size, line.size, true, line.style, box, -1};
    text.text = line.style == TextStyle::strong ? fitted_name(line.text, inside.width - 6, line.size, true)
                                                : fitted(line.text, inside.width - 6, line.size);
    y += line.size * kLineHeight;
    if (!text.text.empty()) drawing.texts.push_back(std::move(text));
  }
}

void Pen::write(Point at, const Line& line) {
  if (!line.text.empty())
    drawing.texts.push_back({line.text, at.x, at.y, line.size, false, line.style, -1, -1});
}

void Pen::wire(const Bundle& bundle, std::vector<Point> points, double width, int a, int b) {
  const bool known = bundle.gb_per_s() > 0;
  drawing.wires.push_back({std::move(points), bundle.kind, true, known, width, a, b,
                           facts_of(bundle, facts(a), facts(b)), false, bundle.busy});
  count(bundle, width);
}

void Pen::count(const Bundle& bundle, double width) {
  const auto same = [&](const Sort& sort) {
    return sort.bundle.kind == bundle.kind && sort.bundle.count == bundle.count &&
           (sort.bundle.b < 0) == (bundle.b < 0) &&
           std::abs(sort.bundle.gb_per_s() - bundle.gb_per_s()) <= 0.001 * bundle.gb_per_s();
  };
  const auto found = std::find_if(sorts_.begin(), sorts_.end(), same);
  if (found == sorts_.end()) {
    sorts_.push_back({bundle, width, 1});
  } else {
    ++found->times;
  }
}

void Pen::way_out(int box, double end, double gb_per_s, double width, std::string facts, double busy) {
  const double x = rect(box).middle();
  const std::vector<Point> points = {{x, rect(box).bottom()}, {x, end}};
  drawing.wires.push_back(
      {points, LinkKind::cable, true, true, width, box, -1, std::move(facts), true, busy});
  count(
      {.a = box, .kind = LinkKind::cable, .count = 1, .there = gb_per_s, .back = gb_per_s, .each = gb_per_s},
      width);
}

void Pen::hold(Point from, Point to, int a, int b) {
  drawing.wires.push_back({{from, to}, LinkKind::inner, false, false, 1, a, b, "", false, -1});
}

bool Pen::label(int wire, Point middle, const std::vector<std::string>& lines) {
  std::vector<Text> made;
  double y = middle.y - static_cast<double>(lines.size()) * kLabelSize * kLineHeight / 2;
  for (const std::string& line : lines) {
    made.push_back({line, middle.x, y + kLabelSize, kLabelSize, true,
                    made.empty() ? TextStyle::label : TextStyle::faint, -1, wire});
    y += kLabelSize * kLineHeight;
  }
  for (const Text& text : made) {
    const Rect own = text.rect();
    const Rect wide = {own.x - 3, own.y - 1, own.width + 6, own.height + 2};
    for (const Text& other : drawing.texts) {
      if (other.box < 0 && wide.overlaps(other.rect())) return false;
    }
    for (const Box& box : drawing.boxes) {
      if (wide.overlaps(box.rect) && !(box.style == BoxStyle::frame && box.rect.holds(wide))) return false;
    }
  }
  drawing.texts.insert(drawing.texts.end(), made.begin(), made.end());
  return true;
}

double Pen::heat_legend(double x, double y) {
  const auto shown = [](const Wire& wire) { return wire.busy >= 0; };
  if (std::none_of(drawing.wires.begin(), drawing.wires.end(), shown)) return y;
  constexpr std::pair<double, const char*> kHeats[] = {{0, "idle"},     {0.1, "to 25%"}, {0.3, "to 50%"},
                                                       {0.6, "to 75%"}, {0.8, "to 95%"}, {1, "the busiest"}};
  constexpr double kColumn = 96, kSample = 24;
  for (const auto& [busy, words] : kHeats) {
    drawing.samples.push_back({{x, y + 8}, kSample, LinkKind::pci, true, 4, busy});
    write({x + kSample + 8, y + 12}, {words, TextStyle::muted, 10.5});
    x += kColumn;
  }
  return y + 24;
}

double Pen::legend(double x, double y, double right) {
  std::sort(sorts_.begin(), sorts_.end(), [](const Sort& a, const Sort& b) {
    return std::tuple(a.bundle.kind, -a.bundle.gb_per_s()) < std::tuple(b.bundle.kind, -b.bundle.gb_per_s());
  });
  constexpr double kColumn = 240, kRow = 38, kSample = 36;
  double column = x;
  for (size_t i = 0; i < std::min(sorts_.size(), kMostSamples); ++i) {
    const Sort& sort = sorts_[i];
    if (column > x && column + kColumn > right) {
      column = x;
      y += kRow;
    }
    drawing.samples.push_back(
        {{column, y + 8}, kSample, sort.bundle.kind, sort.bundle.gb_per_s() > 0, sort.width, -1});
    const std::string what = fmt::format("{} {}", name(sort.bundle.kind), speed(sort.bundle));
    const double wide = kColumn - kSample - 24;
    write({column + kSample + 12, y + 12}, {fitted(what, wide, 12, true), TextStyle::strong, 12});
    write({column + kSample + 12, y + 26},
          {fitted(remark(sort.bundle, sort.times), wide, 10.5), TextStyle::muted, 10.5});
    column += kColumn;
  }
  y += sorts_.empty() ? 0 : kRow;
  std::string note = sorts_.size() > kMostSamples ? fmt::format("{} more kinds of links are not listed. ",
                                                                sorts_.size() - kMostSamples)
                                                  : "";
  note += "GB/s in one direction, before protocol overhead.";
  write({x, y + 14}, {note, TextStyle::muted, 10.5});
  return y + 24;
}

void Pen::finish(double margin) {
  double right = 0, bottom = 0;
  for (const Box& box : drawing.boxes) {
    right = std::max(right, box.rect.right());
    bottom = std::max(bottom, box.rect.bottom());
  }
  for (const Text& text : drawing.texts) {
    right = std::max(right, text.rect().right());
    bottom = std::max(bottom, text.rect().bottom());
  }
  drawing.width = std::ceil(right + margin);
  drawing.height = std::ceil(bottom + margin);
}

Point along(const std::vector<Point>& points, double t) {
  const double s = 1 - t;
  if (points.size() == 2) return {s * points[0].x + t * points[1].x, s * points[0].y + t * points[1].y};
  const double w[] = {s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t};
  Point point;
  for (size_t i = 0; i < 4; ++i) {
    point.x += w[i] * points[i].x;
    point.y += w[i] * points[i].y;
  }
  return point;
}

}  // namespace weir::topology
