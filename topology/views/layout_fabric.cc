// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "src/base/text.h"
#include "topology/model/derive.h"
#include "topology/views/fabric_parts.h"
#include "topology/views/fabric_wires.h"
#include "topology/views/layout.h"
#include "topology/views/pen.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

constexpr double kGutter = 150;  ///< width of the text at the left of the rows
constexpr double kSwitchWidth = 76;
constexpr double kSpineWidth = 110;
constexpr double kSwitchHeight = 46;
constexpr double kHostWidth = 132;
constexpr double kHostHeight = 66;
constexpr double kBoxGap = 14;
constexpr double kPodGap = 40;
constexpr double kPodPadding = 18;
constexpr double kBetweenRows = 92;
constexpr double kHeading = 30;  ///< height of the heading of a pod that represents several

/// The bundles between two rows.
struct Between {
  int64_t cables = 0;
  double gb_per_s = 0;
};

class FabricPicture {
 public:
  FabricPicture(const Graph& graph, const LinkTraffic& traffic)
      : graph_(graph),
        traffic_(traffic),
        parts_(fabric_parts_of(graph)),
        place_(static_cast<size_t>(graph.size()), -1) {
    for (const Leaf& leaf : leaves(graph)) ratios_[leaf.fabric_switch] = leaf.oversubscription();
  }

  Drawing draw() {
    title();
    place_columns();
    place_rows();
    add_pods();
    add_upper();
    spread();
    each_line_ = add_fabric_wires(pen_, bundles(graph_, place_, traffic_));
    add_gutter();
    if (!pen_.drawing.wires.empty())
      pen_.write({kMargin, bottom_ + 40},
                 {"GB/s of all cables of a line together, in one direction, before protocol overhead.",
                  TextStyle::muted, 10.5});
    pen_.heat_legend(kMargin, bottom_ + 54);
    pen_.finish(kMargin);
    return std::move(pen_.drawing);
  }

 private:
  static std::string level_name(int level, int64_t count) {
    if (level == 1) return plural(count, "leaf");
    return level == 2 ? plural(count, "spine")
                      : fmt::format("{} of level {}", plural(count, "switch"), level);
  }

  void title() {
    std::map<int, int64_t> switches;
    for (Index node = 0; node < graph_.size(); ++node) {
      const HostSum& sum = parts_.sums[static_cast<size_t>(node)];
      hosts_ += graph_[node].kind() == NodeKind::host ? 1 : 0;
      gpus_ += sum.gpus;
      nics_ += sum.nics;
      if (graph_[node].kind() == NodeKind::fabric_switch)
        ++switches_[parts_.levels[static_cast<size_t>(node)]];
    }
    std::string what = fmt::format("{}, {}", plural(hosts_, "host"), plural(gpus_, "GPU"));
    for (const auto& [level, count] : switches_) what += ", " + level_name(level, count);
    if (switches_.empty()) what += "; no switch is known that connects them";
    pen_.drawing.title = "network: " + what;
    pen_.write({kMargin, kMargin + 14}, {"Network", TextStyle::title, 17});
    pen_.write({kMargin, kMargin + 33}, {what, TextStyle::muted, 12});
  }

  static double width_of(size_t boxes, double width) {
    return boxes == 0 ? 0 : static_cast<double>(boxes) * (width + kBoxGap) - kBoxGap;
  }

  void place_columns() {
    double x = kMargin + kGutter;
    for (const Pod& pod : parts_.pods) {
      const double inside = std::max(
          {width_of(pod.leaves.size(), kSwitchWidth), width_of(pod.hosts.size(), kHostWidth), kHostWidth});
      pods_.push_back({x, 0, inside + 2 * kPodPadding, 0});
      x += pods_.back().width + kPodGap;
    }
    left_ = kMargin + kGutter;
    right_ = std::max(x - kPodGap, left_ + 200);
    for (const auto& row : parts_.upper) right_ = std::max(right_, left_ + width_of(row.size(), kSpineWidth));
    const double shift = pods_.empty() ? 0 : (right_ - pods_.back().right()) / 2;
    for (Rect& pod : pods_) pod.x += shift;
  }

  void place_rows() {
    double y = kMargin + 70;
    for (size_t i = 0; i < parts_.upper.size(); ++i) {
      upper_y_.insert(upper_y_.begin(), y);
      y += kSwitchHeight + kBetweenRows;
    }
    leaf_y_ = y + (parts_.upper.empty() ? 0 : kPodPadding);
    const bool has_leaves = switches_.count(1) > 0;
    host_y_ = has_leaves ? leaf_y_ + kSwitchHeight + kBetweenRows : leaf_y_;
    bottom_ = host_y_ + kHostHeight;
    for (const Link& link : graph_.links()) {
      const Index a = parts_.hosts_of[static_cast<size_t>(link.from)];
      const Index b = parts_.hosts_of[static_cast<size_t>(link.to)];
      if (a != kNone && b != kNone && a != b) between_hosts_ = true;
    }
    bottom_ += between_hosts_ ? kArcHeight : 0;
    shared_y_ = bottom_ + kBetweenRows * 0.7;
    for (const Pod& pod : parts_.pods) {
      if (!pod.nvswitches.empty()) bottom_ = shared_y_ + kBarHeight;
      if (pod.times > 1) heading_ = true;
    }
    bottom_ += kPodPadding + (heading_ ? kHeading : 0);
  }

  /// Boxes of equal width side by side that fill the extent; a single one fills all of it.
  static std::vector<Rect> row(const Rect& extent, size_t count, double y, double height, double narrow) {
    std::vector<Rect> rects;
    const double all = extent.width;
    const double own = count == 1 ? all : narrow;
    const double free = all - static_cast<double>(count) * own;
    // Flush with the extent, unless that moves the boxes far apart.
    const bool flush = count > 1 && free / static_cast<double>(count - 1) < 3 * kBoxGap;
    const double gap = count == 0 ? 0 : free / static_cast<double>(flush ? count - 1 : count);
    const double first = extent.x + (flush || count == 1 ? 0 : gap / 2);
    for (size_t i = 0; i < count; ++i)
      rects.push_back({first + static_cast<double>(i) * (own + gap), y, own, height});
    return rects;
  }

  void take(const Block& block, int box) {
    for (const Index node : block) place_[static_cast<size_t>(node)] = box;
  }

  void add_pods() {
    for (size_t i = 0; i < pods_.size(); ++i) {
      const Pod& pod = parts_.pods[i];
      const double top = pod.leaves.empty() ? host_y_ : leaf_y_;
      const Rect frame = {pods_[i].x, top - kPodPadding, pods_[i].width, bottom_ - top + kPodPadding};
      frames_.push_back(pen_.box(frame, BoxStyle::frame, "", pod.times > 1));
    }
    for (size_t i = 0; i < pods_.size(); ++i) {
      const Pod& pod = parts_.pods[i];
      const Rect inside = {pods_[i].x + kPodPadding, 0, pods_[i].width - 2 * kPodPadding, 0};
      const auto leaf_rects = row(inside, pod.leaves.size(), leaf_y_, kSwitchHeight, kSwitchWidth);
      for (size_t k = 0; k < pod.leaves.size(); ++k) add_leaf(pod.leaves[k], leaf_rects[k]);
      const auto host_rects = row(inside, pod.hosts.size(), host_y_, kHostHeight, kHostWidth);
      for (size_t k = 0; k < pod.hosts.size(); ++k) add_host(pod.hosts[k], host_rects[k]);
      if (!pod.nvswitches.empty()) {
        const auto count = static_cast<int64_t>(pod.nvswitches.size());
        const int box = pen_.box({inside.x, shared_y_, inside.width, kBarHeight}, BoxStyle::nvswitch,
                                 facts_of(graph_, pod.nvswitches, plural(count, "NVSwitch")), count > 1);
        pen_.write(box, {{plural(count, "NVSwitch"), TextStyle::strong, 12}});
        take(pod.nvswitches, box);
      }
      if (pod.times > 1) add_heading(i);
    }
  }

  void add_heading(size_t i) {
    const Pod& pod = parts_.pods[i];
    int64_t leaves = 0, hosts = 0;
    for (const Block& block : pod.leaves) leaves += static_cast<int64_t>(block.size());
    for (const Block& block : pod.hosts) hosts += static_cast<int64_t>(block.size());
    const std::string each =
        (leaves > 0 ? plural(leaves, "leaf") + ", " : std::string()) + plural(hosts, "host");
    const double width = pods_[i].width - 2 * kPodPadding;
    const std::string text =
        pod.mixed ? first_fitting({fmt::format("{} other groups, not alike: {}", pod.times, each),
                                   fmt::format("{} other groups", pod.times)},
                                  width, 12, true)
                  : first_fitting({fmt::format("{} groups like this: {}", pod.times, each),
                                   fmt::format("{} groups like this", pod.times)},
                                  width, 12, true);
    pen_.drawing.texts.push_back(
        {text, pods_[i].middle(), bottom_ - 16, 12, true, TextStyle::strong, frames_[i], -1});
  }

  /// "4:1" if it is known and equal for all of them.
  std::string ratio(const Block& block) const {
    double ratio = -1;
    for (const Index leaf : block) {
      const auto found = ratios_.find(leaf);
      const double own = found == ratios_.end() ? 0 : found->second;
      if (ratio >= 0 && std::abs(own - ratio) > 0.005 * ratio) return "";
      ratio = own;
    }
    return ratio > 0 ? figure(ratio) + ":1" : "";
  }

  std::string switch_facts(const Block& block, const std::string& several) const {
    if (block.size() > 1) return facts_of(graph_, block, several);
    return facts_of(graph_, {}, block[0]);
  }

  void add_leaf(const Block& block, const Rect& rect) {
    const auto count = static_cast<int64_t>(block.size());
    const std::string several = plural(count, "leaf");
    const std::string oversubscription = ratio(block);
    std::string facts = switch_facts(block, several);
    if (!oversubscription.empty())
      facts += fmt::format("\n{} bandwidth to hosts : bandwidth to upper switches", oversubscription);
    const int box = pen_.box(rect, BoxStyle::fabric_switch, facts, count > 1);
    const bool over = !oversubscription.empty() && oversubscription != "1:1";
    const std::string remark =
        over ? first_fitting({"oversubscribed " + oversubscription, oversubscription}, rect.width - 6, 11)
             : oversubscription;
    pen_.write(box, {{count > 1 ? several : label_of(graph_, block[0]), TextStyle::strong, 12},
                     {remark, over ? TextStyle::warning : TextStyle::muted, 11}});
    take(block, box);
  }

  void add_host(const Block& block, const Rect& rect) {
    const HostSum& first = parts_.sums[static_cast<size_t>(block[0])];
    bool alike = true;
    int64_t gpus = 0;
    for (const Index host : block) {
      alike = alike && parts_.sums[static_cast<size_t>(host)].kind == first.kind;
      gpus += parts_.sums[static_cast<size_t>(host)].gpus;
    }
    const auto count = static_cast<int64_t>(block.size());
    const std::string several = plural(count, "host"), each = count > 1 ? " each" : "";
    const std::string nics = plural(first.nics, "NIC");
    const std::string speed =
        first.gb_per_s > 0 ? (first.nics > 1 ? ", together " : ", ") + rate(first.gb_per_s) : "";
    std::vector<Pen::Line> lines = {
        {count > 1 ? several : label_of(graph_, block[0]), TextStyle::strong, 12},
        {plural(first.gpus, "GPU") + each, TextStyle::plain, 11},
        {first_fitting({nics + each + speed, nics + speed, nics}, rect.width - 6, 10.5), TextStyle::muted,
         10.5}};
    if (!alike) lines = {lines[0], {plural(gpus, "GPU") + " in total", TextStyle::plain, 11}};
    std::string facts = facts_of(graph_, block, several);
    if (count == 1) facts = facts_of(graph_, {}, block[0]);
    if (alike) facts += fmt::format("\n{}{}\n{}{}{}", plural(first.gpus, "GPU"), each, nics, each, speed);
    const int box = pen_.box(rect, BoxStyle::host, facts, count > 1);
    pen_.write(box, lines);
    take(block, box);
  }

  void add_upper() {
    for (size_t i = 0; i < parts_.upper.size(); ++i) {
      const std::vector<Block>& blocks = parts_.upper[i];
      const Rect extent = {left_, 0, right_ - left_, 0};
      const auto rects = row(extent, blocks.size(), upper_y_[i], kSwitchHeight, kSpineWidth);
      for (size_t k = 0; k < blocks.size(); ++k) {
        const auto count = static_cast<int64_t>(blocks[k].size());
        const int level = parts_.levels[static_cast<size_t>(blocks[k][0])];
        const std::string several = level_name(level, count);
        const int box =
            pen_.box(rects[k], BoxStyle::fabric_switch, switch_facts(blocks[k], several), count > 1);
        pen_.write(box, {{count > 1 ? several : label_of(graph_, blocks[k][0]), TextStyle::strong, 12}});
        take(blocks[k], box);
      }
    }
  }

  /// The contents of hosts are drawn with them.
  void spread() {
    for (Index node = 0; node < graph_.size(); ++node) {
      const Index host = parts_.hosts_of[static_cast<size_t>(node)];
      if (host != kNone) place_[static_cast<size_t>(node)] = place_[static_cast<size_t>(host)];
    }
  }

  void gutter(double y, const std::string& strong, const std::vector<std::string>& muted = {}) {
    const double width = kGutter - 16;
    y -= 7 * static_cast<double>(muted.size());
    pen_.write({kMargin, y}, {fitted(strong, width, 12, true), TextStyle::strong, 12});
    for (const std::string& line : muted)
      pen_.write({kMargin, y += 15}, {fitted(line, width, 10.5), TextStyle::muted, 10.5});
  }

  /// Draws wires between the boxes that end at `bottom` and the row at `row`.
  void gutter_between(double bottom, double row, const Between& between) {
    double y = (bottom + row) / 2 - 5;
    const double width = kGutter - 16;
    if (between.cables == 0) return;
    pen_.write({kMargin, y}, {fitted(plural(between.cables, "cable"), width, 10.5), TextStyle::muted, 10.5});
    if (between.gb_per_s > 0)
      pen_.write({kMargin, y += 14}, {fitted(rate(between.gb_per_s), width, 10.5), TextStyle::muted, 10.5});
    if (each_line_.count(row) > 0)
      pen_.write({kMargin, y + 14}, {fitted(each_line_[row], width, 10.5), TextStyle::muted, 10.5});
  }

  /// Totals of each row, drawn or folded.
  void add_gutter() {
    std::map<int, Between> below;  // key: level of the upper end
    for (const Link& link : graph_.links()) {
      if (link.kind != LinkKind::cable) continue;
      const int upper = parts_.levels[static_cast<size_t>(link.to)];
      if (parts_.levels[static_cast<size_t>(link.from)] >= upper) continue;
      below[upper].cables += link.count;
      below[upper].gb_per_s += link.gb_per_s;
    }
    gutter(host_y_ + kHostHeight / 2 + 4, plural(hosts_, "host"),
           {plural(gpus_, "GPU"), plural(nics_, "NIC")});
    if (switches_.count(1) == 0) return;
    gutter(leaf_y_ + kSwitchHeight / 2 + 4, level_name(1, switches_[1]));
    gutter_between(leaf_y_ + kSwitchHeight, host_y_, below[1]);
    for (size_t i = 0; i < parts_.upper.size(); ++i) {
      const int level = parts_.levels[static_cast<size_t>(parts_.upper[i][0][0])];
      gutter(upper_y_[i] + kSwitchHeight / 2 + 4, level_name(level, switches_[level]));
      gutter_between(upper_y_[i] + kSwitchHeight, i == 0 ? leaf_y_ : upper_y_[i - 1], below[level]);
    }
  }

  const Graph& graph_;
  const LinkTraffic& traffic_;
  const FabricParts parts_;
  std::map<Index, double> ratios_;   ///< oversubscription of each leaf
  std::map<int, int64_t> switches_;  ///< number of switches per level
  int64_t hosts_ = 0, gpus_ = 0, nics_ = 0;
  std::vector<int> place_;   ///< index: node; its box
  std::vector<Rect> pods_;   ///< extents of the pods
  std::vector<int> frames_;  ///< boxes of the pods
  std::vector<double> upper_y_;
  EachLine each_line_;
  double left_ = 0, right_ = 0, bottom_ = 0;
  double leaf_y_ = 0, host_y_ = 0, shared_y_ = 0;
  bool between_hosts_ = false, heading_ = false;
  Pen pen_;
};

}  // namespace

Drawing layout_of_fabric(const Graph& graph, const LinkTraffic& traffic) {
  return FabricPicture(graph, traffic).draw();
}

}  // namespace weir::topology
