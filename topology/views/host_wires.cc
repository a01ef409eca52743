// SPDX-License-Identifier: Apache-2.0

#include "topology/views/host_wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "topology/views/rings.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

constexpr double kLabelAbove = 18;  ///< distance of a label from the end of a line
constexpr double kMostSteps = 8;    ///< maximum number of different heights of arcs

/// The text of a label; nothing if the speed is unknown or no limit.
std::vector<std::string> words(const Bundle& bundle) {
  if (bundle.gb_per_s() <= 0 || !is_limit(bundle.kind, bundle.gb_per_s())) return {};
  if (bundle.kind == LinkKind::pci && bundle.count > 1 && bundle.each > 0)
    return {fmt::format("{} \xc3\x97 {}", bundle.count, rate(bundle.each))};
  return {rate(bundle.gb_per_s())};
}

}  // namespace

HostWires::HostWires(Pen& pen, const std::vector<Bundle>& links, const std::vector<int>& circles)
    : pen_(pen), links_(links), circles_(circles), drawn_(links.size()) {
  double most = 0;
  for (const Bundle& bundle : links) {
    if (is_limit(bundle.kind, bundle.gb_per_s())) most = std::max(most, bundle.gb_per_s());
  }
  strokes_ = Strokes(most);
  std::vector<const Bundle*> between;
  for (const Bundle& bundle : links) {
    if (bundle.kind == LinkKind::cpu) between.push_back(&bundle);
  }
  arcs_differ_ = std::any_of(between.begin(), between.end(), [&](const Bundle* bundle) {
    return rate(bundle->gb_per_s()) != rate(between[0]->gb_per_s());
  });
}

double HostWires::width(const Bundle& bundle) const {
  return strokes_.width(is_limit(bundle.kind, bundle.gb_per_s()) ? bundle.gb_per_s() : 0);
}

bool HostWires::joins(const Bundle& bundle, BoxStyle first, BoxStyle second) const {
  const BoxStyle a = style(bundle.a), b = style(bundle.b);
  return (a == first && b == second) || (a == second && b == first);
}

void HostWires::label(const std::vector<Point>& points, const Bundle& bundle) {
  if (!words(bundle).empty()) pen_.label(along(points, 0.5), words(bundle));
}

void HostWires::add_line(const std::vector<int>& stops, double x) {
  const Bundle* narrowest = nullptr;
  for (size_t i = 0; i + 1 < stops.size(); ++i) {
    const Rect& upper = pen_.rect(stops[i]);
    const Rect& lower = pen_.rect(stops[i + 1]);
    const Point from = {x, i == 0 ? upper.bottom() : upper.center()};
    const Point to = {x, i + 2 == stops.size() ? lower.y : lower.center()};
    const auto key = std::minmax(stops[i], stops[i + 1]);
    const auto found = std::find_if(links_.begin(), links_.end(), [&](const Bundle& bundle) {
      return bundle.kind == LinkKind::pci && bundle.a == key.first && bundle.b == key.second;
    });
    if (found == links_.end()) {
      pen_.hold(from, to, stops[i], stops[i + 1]);
      continue;
    }
    drawn_[static_cast<size_t>(found - links_.begin())] = true;
    pen_.wire(*found, {from, to}, width(*found), stops[i], stops[i + 1]);
    if (found->gb_per_s() > 0 && (narrowest == nullptr || found->gb_per_s() < narrowest->gb_per_s()))
      narrowest = &*found;
  }
  if (narrowest != nullptr && !words(*narrowest).empty())
    pen_.label({x, pen_.rect(stops.back()).y - kLabelAbove}, words(*narrowest));
}

void HostWires::add_way_out(int nic, double gb_per_s, double end, std::string facts, double busy) {
  pen_.way_out(nic, end, gb_per_s, strokes_.width(gb_per_s), std::move(facts), busy);
}

void HostWires::add_others() {
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!drawn_[i]) add_other(links_[i]);
  }
}

void HostWires::add_other(const Bundle& bundle) {
  const int a = bundle.a, b = bundle.b;
  if (bundle.kind == LinkKind::cpu) return add_between_processors(bundle);
  if (joins(bundle, BoxStyle::gpu, BoxStyle::gpu)) return add_chord(bundle);
  if (joins(bundle, BoxStyle::gpu, BoxStyle::nvswitch)) return add_to_switch(bundle);
  if (joins(bundle, BoxStyle::gpu, BoxStyle::head)) return add_to_processor(bundle);
  if (bundle.kind == LinkKind::pci && (style(a) == BoxStyle::nvswitch || style(b) == BoxStyle::nvswitch))
    return;  // a management link, which the switch's facts list
  const Rect& from = pen_.rect(a);
  const Rect& to = pen_.rect(b);
  const bool beside = from.y == to.y && from.right() < to.x;
  const std::vector<Point> points = {{beside ? from.right() : from.middle(), from.center()},
                                     {beside ? to.x : to.middle(), to.center()}};
  pen_.wire(bundle, points, width(bundle), a, b);
  if (beside) label(points, bundle);
}

/// Neighbours through the gap, others by an arc above.
void HostWires::add_between_processors(const Bundle& bundle) {
  const Rect& from = pen_.rect(bundle.a);
  const Rect& to = pen_.rect(bundle.b);
  const double steps = std::min<double>(bundle.b - bundle.a, kMostSteps);  // arrow heads follow one another
  std::vector<Point> points = {{from.right(), from.center()}, {to.x, to.center()}};
  if (steps > 1) {
    const double height = (20 + 10 * steps) * 4 / 3;
    const double inset = std::max(6.0, 40.0 - 8 * steps);
    const Point start = {from.middle() + inset, from.y}, end = {to.middle() - inset, to.y};
    points = {start, {start.x, start.y - height}, {end.x, end.y - height}, end};
  }
  pen_.wire(bundle, points, width(bundle), bundle.a, bundle.b);
  if (steps <= 1 || arcs_differ_) label(points, bundle);
}

void HostWires::add_chord(const Bundle& bundle) {
  const int a = circles_[static_cast<size_t>(bundle.a)], b = circles_[static_cast<size_t>(bundle.b)];
  if (a < 0 || b < 0) return;
  const Rect& from = pen_.rect(a);
  const Rect& to = pen_.rect(b);
  const std::vector<Point> points = {{from.middle(), from.center()}, {to.middle(), to.center()}};
  pen_.wire(bundle, points, width(bundle), a, b);
  // There is space for a label if only two are connected.
  if (from.y == to.y && std::abs(to.x - from.x - 2 * ring_radius(2)) < 1) label(points, bundle);
}

void HostWires::add_to_switch(const Bundle& bundle) {
  const int gpu = style(bundle.a) == BoxStyle::gpu ? bundle.a : bundle.b;
  const int bar = bundle.a == gpu ? bundle.b : bundle.a;
  const double x = std::clamp(pen_.rect(gpu).middle(), pen_.rect(bar).x, pen_.rect(bar).right());
  const double bottom = pen_.rect(bar).y;
  pen_.wire(bundle, {{x, pen_.rect(gpu).bottom()}, {x, bottom}}, width(bundle), gpu, bar);
  if (!words(bundle).empty()) pen_.label({x, bottom - 26}, words(bundle));
}

/// From a GPU to its processor, beside the path over PCIe.
void HostWires::add_to_processor(const Bundle& bundle) {
  const int gpu = style(bundle.a) == BoxStyle::gpu ? bundle.a : bundle.b;
  const int head = bundle.a == gpu ? bundle.b : bundle.a;
  const Rect& from = pen_.rect(gpu);
  const Rect& to = pen_.rect(head);
  const double x = from.x + kSecondWay * from.width;
  pen_.wire(bundle, {{x, from.y}, {std::clamp(x, to.x, to.right()), to.bottom()}}, width(bundle), gpu, head);
  if (!words(bundle).empty()) pen_.label({x, from.y - kLabelAbove}, words(bundle));
}

}  // namespace weir::topology
