// SPDX-License-Identifier: Apache-2.0

#include "topology/views/fabric_wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/text.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

constexpr size_t kMostLabels = 8;  ///< maximum number of labels on slanting wires between two rows

/// A bundle between two rows.
struct Hang {
  const Bundle* bundle;
  int upper;
  int lower;
  double upper_x;
  double lower_x;
  bool straight;
  int wire;
};

class Wires {
 public:
  explicit Wires(Pen& pen) : pen_(pen) {}

  EachLine add(const std::vector<Bundle>& links) {
    double most = 0;
    for (const Bundle& bundle : links) most = std::max(most, bundle.gb_per_s());
    const Strokes strokes(most);
    std::map<std::pair<double, double>, std::vector<Hang>> gaps;  // key: y of the two rows
    for (const Bundle& bundle : links) {
      const bool a_above = pen_.rect(bundle.a).y < pen_.rect(bundle.b).y;
      const int upper = a_above ? bundle.a : bundle.b, lower = a_above ? bundle.b : bundle.a;
      if (pen_.rect(upper).y == pen_.rect(lower).y) {
        add_arc(bundle, strokes.width(bundle.gb_per_s()));
        continue;
      }
      gaps[{pen_.rect(upper).y, pen_.rect(lower).y}].push_back({&bundle, upper, lower, 0, 0, false, -1});
    }
    for (auto& [unused, hangs] : gaps) {
      find_ends(hangs);
      for (Hang& hang : hangs) {
        hang.wire = static_cast<int>(pen_.drawing.wires.size());
        pen_.wire(*hang.bundle, points(hang), strokes.width(hang.bundle->gb_per_s()), hang.lower, hang.upper);
      }
      add_labels(hangs);
      remember_unlabelled(hangs);
    }
    return std::move(each_line_);
  }

 private:
  /// Straight down if one end is wide and the other below or above it; otherwise side by side at both ends.
  void find_ends(std::vector<Hang>& hangs) {
    std::map<int, bool> all_straight;
    for (Hang& hang : hangs) {
      const Rect& upper = pen_.rect(hang.upper);
      const Rect& lower = pen_.rect(hang.lower);
      const Rect& narrow = upper.width < lower.width ? upper : lower;
      const Rect& wide = upper.width < lower.width ? lower : upper;
      hang.straight = wide.x <= narrow.middle() && narrow.middle() <= wide.right() &&
                      (wide.width > 1.5 * narrow.width || std::abs(wide.middle() - narrow.middle()) < 1);
      hang.upper_x = hang.lower_x = narrow.middle();
      for (const int end : {hang.upper, hang.lower})
        all_straight[end] = all_straight.try_emplace(end, true).first->second && hang.straight;
    }
    std::map<int, std::vector<Hang*>> from_upper, from_lower;
    for (Hang& hang : hangs) {
      const bool upper_is_wide = pen_.rect(hang.upper).width > pen_.rect(hang.lower).width;
      hang.straight = hang.straight && all_straight[upper_is_wide ? hang.upper : hang.lower];
      if (hang.straight) continue;
      from_upper[hang.upper].push_back(&hang);
      from_lower[hang.lower].push_back(&hang);
    }
    const auto share = [&](std::map<int, std::vector<Hang*>>& ends, int Hang::*other, double Hang::*x) {
      for (auto& [box, list] : ends) {
        std::sort(list.begin(), list.end(), [&](const Hang* a, const Hang* b) {
          return pen_.rect(a->*other).middle() < pen_.rect(b->*other).middle();
        });
        const auto count = static_cast<double>(list.size());
        const double pitch = std::min(16.0, 0.8 * pen_.rect(box).width / count);
        for (size_t i = 0; i < list.size(); ++i)
          list[i]->*x = pen_.rect(box).middle() + (static_cast<double>(i) - (count - 1) / 2) * pitch;
      }
    };
    share(from_upper, &Hang::lower, &Hang::upper_x);
    share(from_lower, &Hang::upper, &Hang::lower_x);
  }

  std::vector<Point> points(const Hang& hang) const {
    const Point from = {hang.upper_x, pen_.rect(hang.upper).bottom()};
    const Point to = {hang.lower_x, pen_.rect(hang.lower).y};
    if (hang.straight) return {from, to};
    const double bend = (to.y - from.y) * 0.45;
    return {from, {from.x, from.y + bend}, {to.x, to.y - bend}, to};
  }

  void add_labels(const std::vector<Hang>& hangs) {
    const auto slanting = static_cast<size_t>(
        std::count_if(hangs.begin(), hangs.end(), [](const Hang& hang) { return !hang.straight; }));
    for (const Hang& hang : hangs) {
      if (hang.bundle->gb_per_s() <= 0 || (!hang.straight && slanting > kMostLabels)) continue;
      const std::string speed = rate(hang.bundle->gb_per_s());
      const std::string parts =
          hang.bundle->count == 1 ? ""
          : hang.bundle->each > 0
              ? fmt::format("{} \xc3\x97 {}", hang.bundle->count, figure(hang.bundle->each))
              : plural(hang.bundle->count, hang.bundle->kind == LinkKind::cable ? "cable" : "link");
      const std::vector<Point> line = points(hang);
      if (hang.straight && !parts.empty() && pen_.label(hang.wire, along(line, 0.5), {speed, parts}))
        continue;
      for (const double t : {0.5, 0.62, 0.38, 0.74, 0.26}) {
        if (pen_.label(hang.wire, along(line, t), {speed})) break;
      }
    }
  }

  /// If there are too many lines for labels, the gutter gives the speed of each.
  void remember_unlabelled(const std::vector<Hang>& hangs) {
    double least = 0, most = 0;
    size_t slanting = 0;
    for (const Hang& hang : hangs) {
      const double speed = hang.bundle->gb_per_s();
      if (hang.straight || speed <= 0) continue;
      least = slanting == 0 ? speed : std::min(least, speed);
      most = std::max(most, speed);
      ++slanting;
    }
    if (slanting <= kMostLabels) return;
    each_line_[pen_.rect(hangs[0].lower).y] = figure(least) == figure(most)
                                                  ? rate(most) + " a line"
                                                  : fmt::format("{} to {} a line", figure(least), rate(most));
  }

  /// Within a row: above switches, below hosts.
  void add_arc(const Bundle& bundle, double width) {
    const bool below = pen_.drawing.boxes[static_cast<size_t>(bundle.a)].style == BoxStyle::host;
    const Rect& a = pen_.rect(bundle.a);
    const Rect& b = pen_.rect(bundle.b);
    const double y = below ? a.bottom() : a.y, far = y + (below ? kArcHeight : -kArcHeight);
    const std::vector<Point> line = {{a.middle(), y}, {a.middle(), far}, {b.middle(), far}, {b.middle(), y}};
    pen_.wire(bundle, line, width, bundle.a, bundle.b);
    if (bundle.gb_per_s() > 0) pen_.label(along(line, 0.5), {rate(bundle.gb_per_s())});
  }

  Pen& pen_;
  EachLine each_line_;
};

}  // namespace

EachLine add_fabric_wires(Pen& pen, const std::vector<Bundle>& links) { return Wires(pen).add(links); }

}  // namespace weir::topology
