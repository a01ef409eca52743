// SPDX-License-Identifier: Apache-2.0

#include "topology/views/gpu_rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/views/rings.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

constexpr double kCircle = 34;
constexpr double kAbove = 48;       ///< space above a row of rings
constexpr double kBetween = 84;     ///< space between rings of a row
constexpr double kWords = 236;      ///< width of the text at the left
constexpr double kNarrowest = 760;  ///< minimum width of a panel before a new row begins
constexpr size_t kMostOnRing = 24;

using Ring = std::vector<int>;  // the boxes of the devices, each once, in order

Rect extent(const Ring& ring) {
  const int n = static_cast<int>(ring.size());
  const double across = 2 * ring_radius(n) + kCircle;
  return {0, 0, across, n == 2 ? kCircle : across};
}

class Panel {
 public:
  Panel(Pen& pen, const std::vector<Bundle>& links) : pen_(pen) {
    result_.circles.assign(pen.drawing.boxes.size(), -1);
    const auto is_gpu = [&](int box) {
      return pen.drawing.boxes[static_cast<size_t>(box)].style == BoxStyle::gpu;
    };
    for (const Bundle& bundle : links) {
      if (is_gpu(bundle.a) && is_gpu(bundle.b)) links_.push_back(bundle);
    }
  }

  RingPanel draw(const std::vector<Ring>& rings, double left, double right, double top) {
    result_.right = right;
    result_.bottom = top;
    const double wide = std::max(right, left + kNarrowest);
    size_t first = 0;
    while (first < rings.size()) {
      double width = extent(rings[first]).width, height = extent(rings[first]).height;
      size_t end = first + 1;
      for (; end < rings.size() && left + kWords + width + kBetween + extent(rings[end]).width <= wide;
           ++end) {
        width += kBetween + extent(rings[end]).width;
        height = std::max(height, extent(rings[end]).height);
      }
      double x = std::max(left + kWords, (left + right - width) / 2);
      const double middle = result_.bottom + kAbove + height / 2;
      if (first == 0) write(rings, {left, middle});
      for (; first < end; ++first) {
        const double own = extent(rings[first]).width;
        add(rings[first], {x + own / 2, middle});
        x += own + kBetween;
      }
      result_.right = std::max(result_.right, x - kBetween);
      result_.bottom = middle + std::max(height, 64.0) / 2;
    }
    return std::move(result_);
  }

  void leave_out(int64_t gpus) { result_.left_out += gpus; }

 private:
  /// Writes the number and the speed of the links.
  void write(const std::vector<Ring>& rings, Point at) {
    int64_t pairs = 0, joined = 0;
    std::map<int, double> sums;
    for (const Ring& ring : rings) {
      const auto n = static_cast<int64_t>(ring.size());
      pairs += n * (n - 1) / 2;
      for (const int box : ring) sums[box] = 0;
    }
    std::map<std::pair<int, int>, bool> seen;
    bool known = true;
    for (const Bundle& bundle : links_) {
      if (sums.count(bundle.a) == 0) continue;
      joined += seen.try_emplace({bundle.a, bundle.b}, true).second ? 1 : 0;
      sums[bundle.a] += bundle.gb_per_s();
      sums[bundle.b] += bundle.gb_per_s();
      known = known && bundle.gb_per_s() > 0;
    }
    double least = sums.begin()->second, most = least;
    for (const auto& [unused, sum] : sums) {
      least = std::min(least, sum);
      most = std::max(most, sum);
    }
    const std::string count = fmt::format("{} of {} pairs are connected", joined, pairs);
    const std::string speed = figure(least) == figure(most)
                                  ? fmt::format("each GPU: {} in total", rate(most))
                                  : fmt::format("each GPU: {} to {} in total", figure(least), rate(most));
    pen_.write({at.x, at.y - 10}, {"Links among GPUs", TextStyle::strong, 12});
    pen_.write({at.x, at.y + 8},
               {joined < pairs     ? count
                : rings.size() > 1 ? fmt::format("{} groups with all pairs connected", rings.size())
                                   : "all pairs are connected",
                TextStyle::muted, 11});
    if (known) pen_.write({at.x, at.y + 24}, {speed, TextStyle::muted, 11});
  }

  void add(const Ring& ring, Point middle) {
    const int n = static_cast<int>(ring.size());
    std::map<int, int> number;
    for (int i = 0; i < n; ++i) number[ring[static_cast<size_t>(i)]] = i;
    std::vector<Chord> chords;
    for (const Bundle& bundle : links_) {
      const auto a = number.find(bundle.a), b = number.find(bundle.b);
      if (a != number.end() && b != number.end())
        chords.push_back({a->second, b->second, std::max(bundle.gb_per_s(), 1.0)});
    }
    const std::vector<int> order = ring_order(n, chords);
    for (int position = 0; position < n; ++position) {
      const int device = ring[static_cast<size_t>(order[static_cast<size_t>(position)])];
      const Point at = ring_point(n, position);
      const Rect rect = {middle.x + at.x - kCircle / 2, middle.y + at.y - kCircle / 2, kCircle, kCircle};
      const int box = pen_.box(rect, BoxStyle::ring, pen_.facts(device));
      result_.circles[static_cast<size_t>(device)] = box;
      pen_.drawing.boxes[static_cast<size_t>(device)].twin = box;
      pen_.drawing.boxes[static_cast<size_t>(box)].twin = device;
      const std::string headline = pen_.facts(device).substr(0, pen_.facts(device).find('\n'));
      const bool numbered = headline.starts_with("GPU ") && headline.size() < 8;
      pen_.write(box, {{numbered ? headline.substr(4) : "GPU", TextStyle::strong, numbered ? 13.0 : 9.0}});
    }
  }

  Pen& pen_;
  std::vector<Bundle> links_;  ///< bundles between boxes of GPUs
  RingPanel result_;
};

}  // namespace

RingPanel add_rings(Pen& pen, const std::vector<std::vector<Index>>& rings, const std::vector<int>& place,
                    const std::vector<Bundle>& links, double left, double right, double top) {
  Panel panel(pen, links);
  std::vector<Ring> drawn;
  for (const std::vector<Index>& gpus : rings) {
    Ring ring;
    for (const Index gpu : gpus) {
      if (place[static_cast<size_t>(gpu)] >= 0) ring.push_back(place[static_cast<size_t>(gpu)]);
    }
    std::sort(ring.begin(), ring.end());
    ring.erase(std::unique(ring.begin(), ring.end()), ring.end());
    if (ring.size() > kMostOnRing) panel.leave_out(static_cast<int64_t>(gpus.size()));
    if (ring.size() > 1 && ring.size() <= kMostOnRing) drawn.push_back(std::move(ring));
  }
  return panel.draw(drawn, left, right, top);
}

}  // namespace weir::topology
