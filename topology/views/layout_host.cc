// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/base/text.h"
#include "topology/views/gpu_rings.h"
#include "topology/views/host_parts.h"
#include "topology/views/host_texts.h"
#include "topology/views/host_wires.h"
#include "topology/views/layout.h"
#include "topology/views/pen.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

constexpr double kDeviceWidth = 68;
constexpr double kSlimDevice = 62;  ///< width if there are many devices
constexpr size_t kMany = 18;
constexpr double kWidestName = 100;
constexpr double kWideDevice = 132;  ///< width if a GPU has a second path to its processor
constexpr double kDeviceHeight = 58;
constexpr double kDeviceGap = 10;  ///< gap between devices of one bridge
constexpr double kGroupGap = 20;   ///< gap between other devices
constexpr double kSlimGap = 6;
constexpr double kSlimGroupGap = 14;
constexpr double kColumnGap = 66;
constexpr double kFramePadding = 16;  ///< space inside a frame
constexpr double kHead = 44;
constexpr double kBridge = 32;
constexpr double kLinkLength = 52;
constexpr double kDotPitch = 18;
constexpr double kDot = 9;
constexpr double kAboveBar = 54;
constexpr double kWayOut = 18;  ///< length of a NIC's line outside its frame
constexpr size_t kMostDots = 3;

class HostPicture {
 public:
  HostPicture(const Graph& graph, Index host, const std::string& more, const LinkTraffic& traffic)
      : graph_(graph),
        host_(host),
        more_(more),
        traffic_(traffic),
        children_(children_of(graph)),
        parts_(parts_of(graph, host)),
        spots_(parts_.parts.size()),
        place_(static_cast<size_t>(graph.size()), -1) {}

  Drawing draw() {
    title();
    find_widths();
    place_columns();
    place_rows();
    add_boxes();
    add_switches();
    const std::vector<Bundle> links = bundles(graph_, place_, traffic_);
    const RingPanel rings = add_rings(pen_, parts_.rings, place_, links, kMargin, right_, bottom_);
    right_ = rings.right;
    bottom_ = rings.bottom;
    add_wires(links, rings.circles);
    const double below = pen_.heat_legend(kMargin, bottom_ + 40);
    bottom_ = pen_.legend(kMargin, below, std::max(right_, kMargin + 640));
    remarks(rings.left_out);
    pen_.finish(kMargin);
    return std::move(pen_.drawing);
  }

 private:
  /// The position of a part: its extent from left to right, its top, and the number of boxes above it.
  struct Spot {
    double left = 1e9;
    double right = -1e9;
    double top = 0;
    int depth = 0;
    int box = -1;
    std::vector<int> dots;  ///< indices of boxes, from the parent on
  };

  const Part& part(int number) const { return parts_.parts[static_cast<size_t>(number)]; }
  Spot& spot(int number) { return spots_[static_cast<size_t>(number)]; }
  int& place(Index node) { return place_[static_cast<size_t>(node)]; }
  bool is_gpu(const Part& own) const { return graph_[own.members[0]].kind() == NodeKind::gpu; }
  static size_t dots(const Part& own) {
    const size_t chain = own.chains.empty() ? 0 : own.chains[0].size();
    return chain > kMostDots ? 1 : chain;
  }

  void title() {
    pen_.drawing.title = graph_[host_].name;
    std::string what = parts_.gpus > 0 ? plural(parts_.gpus, "GPU") : "";
    double speed = 0;
    for (Index nic = host_; nic < graph_.size(); ++nic) {
      if (graph_[nic].kind() != NodeKind::nic || graph_.holder(nic, NodeKind::host) != host_) continue;
      speed += speed_of(graph_, children_, nic);
    }
    if (parts_.nics > 0) what += (what.empty() ? "" : ", ") + plural(parts_.nics, "NIC");
    if (speed > 0) what += (parts_.nics > 1 ? ", together " : " of ") + rate(speed);
    pen_.write({kMargin, kMargin + 14}, {fitted(graph_[host_].name, 480, 17, true), TextStyle::title, 17});
    if (!more_.empty()) what += (what.empty() ? "" : ". ") + more_;
    pen_.write({kMargin, kMargin + 33}, {what, TextStyle::muted, 12});
  }

  double name_width(const Part& own) const {
    double width = 0;
    for (const Pen::Line& line : lines_of(graph_, children_, own.members)) {
      const bool strong = line.style == TextStyle::strong;
      if (strong) width = std::max(width, text_width(line.text, line.size, true) + 8);
    }
    return std::min(width, kWidestName);
  }

  void find_widths() {
    const auto devices = std::count_if(parts_.parts.begin(), parts_.parts.end(),
                                       [](const Part& own) { return own.kind == Part::Kind::device; });
    if (static_cast<size_t>(devices) > kMany) {
      gpu_width_ = nic_width_ = kSlimDevice;
      gap_ = kSlimGap;
      group_gap_ = kSlimGroupGap;
    } else {
      for (const Part& own : parts_.parts) {
        if (own.kind == Part::Kind::device && !is_gpu(own))
          nic_width_ = std::max(nic_width_, name_width(own));
      }
    }
    for (const Link& link : graph_.links()) {
      if (graph_[link.from].kind() == NodeKind::gpu && graph_[link.to].kind() == NodeKind::numa &&
          link.kind != LinkKind::pci && graph_.holder(link.from, NodeKind::host) == host_)
        gpu_width_ = kWideDevice;
    }
  }

  /// The devices of a column from left to right.
  std::vector<int> devices_of(int column) const {
    std::vector<int> found, stack = {column};
    while (!stack.empty()) {
      const int own = stack.back();
      stack.pop_back();
      if (part(own).kind == Part::Kind::device) found.push_back(own);
      stack.insert(stack.end(), part(own).children.rbegin(), part(own).children.rend());
    }
    return found;
  }

  void place_columns() {
    double x = kMargin;
    for (const int column : parts_.columns) {
      const std::vector<int> devices = devices_of(column);
      double width = 0;
      for (size_t i = 0; i < devices.size(); ++i) {
        const bool apart = i > 0 && part(devices[i]).parent != part(devices[i - 1]).parent;
        width += i == 0 ? 0 : apart ? group_gap_ : gap_;
        spot(devices[i]).left = width;
        width += is_gpu(part(devices[i])) ? gpu_width_ : nic_width_;
        spot(devices[i]).right = width;
      }
      const double whole = std::max(width, devices.empty() ? 96.0 : 140.0);
      for (const int device : devices) {
        spot(device).left += x + kFramePadding + (whole - width) / 2;
        spot(device).right += x + kFramePadding + (whole - width) / 2;
      }
      spot(column).left = x;
      spot(column).right = x + whole + 2 * kFramePadding;
      x = spot(column).right + kColumnGap;
    }
    right_ = std::max(x - kColumnGap, kMargin + 300);
    for (int own = static_cast<int>(parts_.parts.size()) - 1; own >= 0; --own) {
      if (part(own).parent < 0 || part(part(own).parent).kind == Part::Kind::column) continue;
      Spot& holder = spot(part(own).parent);
      holder.left = std::min(holder.left, spot(own).left);
      holder.right = std::max(holder.right, spot(own).right);
    }
  }

  double height_of(int own) const {
    const Part::Kind kind = part(own).kind;
    return kind == Part::Kind::column ? kHead : kind == Part::Kind::bridge ? kBridge : kDeviceHeight;
  }
  double bottom_of(int own) { return spot(own).top + height_of(own); }

  /// Rows of bridges by depth, and one row of all devices.
  void place_rows() {
    const double arcs = parts_.columns.size() > 2 ? 24 + 12 * static_cast<double>(parts_.columns.size()) : 0;
    top_ = kMargin + 56 + arcs;
    for (const int column : parts_.columns) spot(column).top = top_;
    std::vector<double> rows = {top_};
    double devices = top_ + kHead + kLinkLength;
    for (size_t i = 0; i < parts_.parts.size(); ++i) {
      const int own = static_cast<int>(i);
      if (part(own).parent < 0) continue;
      spot(own).depth = spot(part(own).parent).depth + 1;
    }
    const int deepest = std::accumulate(spots_.begin(), spots_.end(), 0,
                                        [](int most, const Spot& s) { return std::max(most, s.depth); });
    std::vector<std::vector<int>> by_depth(static_cast<size_t>(deepest) + 1);
    for (size_t i = 0; i < spots_.size(); ++i)
      by_depth[static_cast<size_t>(spots_[i].depth)].push_back(static_cast<int>(i));
    for (size_t depth = 1; depth < by_depth.size(); ++depth) {
      double row = 0;
      for (const int own : by_depth[depth]) {
        const double top =
            bottom_of(part(own).parent) + kLinkLength + kDotPitch * static_cast<double>(dots(part(own)));
        double& lowest = part(own).kind == Part::Kind::device ? devices : row;
        lowest = std::max(lowest, top);
      }
      for (const int own : by_depth[depth]) spot(own).top = row;
    }
    for (size_t i = 0; i < spots_.size(); ++i) {
      if (parts_.parts[i].kind == Part::Kind::device) spots_[i].top = devices;
    }
    frames_bottom_ = bottom_ = devices + kDeviceHeight + kFramePadding;
  }

  Rect rect_of(int own) {
    return {spot(own).left, spot(own).top, spot(own).right - spot(own).left, height_of(own)};
  }

  void add_boxes() {
    for (const int column : parts_.columns) {
      Rect frame = rect_of(column);
      frame.height = bottom_ - frame.y;
      pen_.box(frame, BoxStyle::frame, "");
    }
    for (size_t i = 0; i < parts_.parts.size(); ++i) {
      const int own = static_cast<int>(i);
      switch (part(own).kind) {
        case Part::Kind::column: add_head(own); break;
        case Part::Kind::bridge: add_bridge(own); break;
        case Part::Kind::device: add_device(own); break;
      }
      for (const Index member : part(own).members) place(member) = spot(own).box;
      add_dots(own);
    }
  }

  void add_head(int own) {
    const Index node = part(own).members.empty() ? host_ : part(own).members[0];
    spot(own).box = pen_.box(rect_of(own), BoxStyle::head, facts_of(graph_, children_, node));
    const bool numa = node != host_;
    pen_.write(spot(own).box, {{numa ? label_of(graph_, node) : "host", TextStyle::strong, 12},
                               {numa ? processor_of(graph_, node) : "", TextStyle::muted, 10.5}});
  }

  void add_bridge(int own) {
    const Index node = part(own).members[0];
    const Rect rect = rect_of(own);
    spot(own).box = pen_.box(rect, BoxStyle::bridge, facts_of(graph_, children_, node));
    const bool root = graph_.get<BridgeFacts>(node)->root;
    pen_.write(spot(own).box,
               {{first_fitting({root ? "root complex" : "PCIe switch", root ? "root" : "switch", "PCIe"},
                               rect.width - 6, 11),
                 TextStyle::plain, 11}});
  }

  void add_device(int own) {
    const Part& device = part(own);
    const Index node = device.members[0];
    const size_t times = device.members.size();
    const NodeKind kind = graph_[node].kind();
    const BoxStyle style = kind == NodeKind::gpu   ? BoxStyle::gpu
                           : kind == NodeKind::nic ? BoxStyle::nic
                                                   : BoxStyle::bridge;
    const std::string several = plural(static_cast<int64_t>(times), name(kind));
    spot(own).box =
        pen_.box(rect_of(own), style,
                 times == 1 ? facts_of(graph_, children_, node) : facts_of(graph_, device.members, several),
                 times > 1);
    pen_.write(spot(own).box, lines_of(graph_, children_, device.members));
  }

  double link_x(int own) {
    const bool two = part(own).kind == Part::Kind::device && is_gpu(part(own)) && gpu_width_ == kWideDevice;
    const double share = two ? kFirstWay : 0.5;
    return spot(own).left + share * (spot(own).right - spot(own).left);
  }

  void add_dots(int own) {
    if (part(own).kind == Part::Kind::column || dots(part(own)) == 0) return;
    const size_t members = part(own).members.size();
    const size_t chain = part(own).chains[0].size();
    for (size_t i = 0; i < dots(part(own)); ++i) {
      std::vector<Index> bridges;
      for (size_t m = 0; m < members; ++m) {
        for (size_t k = 0; k < chain; ++k) {
          if (k == i || chain > kMostDots) bridges.push_back(part(own).chains[m][k]);
        }
      }
      const double y = bottom_of(part(own).parent) + 16 + kDotPitch * static_cast<double>(i);
      const int box = pen_.box(
          {link_x(own) - kDot / 2, y - kDot / 2, kDot, kDot}, BoxStyle::dot,
          bridges.size() == 1
              ? facts_of(graph_, children_, bridges[0])
              : facts_of(graph_, bridges, plural(static_cast<int64_t>(bridges.size()), "PCIe switch")));
      for (const Index bridge : bridges) place(bridge) = box;
      spot(own).dots.push_back(box);
    }
  }

  void add_switches() {
    std::vector<std::vector<Rect>> rows;
    const bool whole = parts_.nvswitches.size() == 1;  // a single bar ends where the columns end
    for (const SwitchGroup& group : parts_.nvswitches) {
      double left = 1e9, right = -1e9;
      for (const Index gpu : group.gpus) {
        if (place(gpu) < 0) continue;
        const Rect own = pen_.rect(place(gpu));
        left = std::min(left, own.x);
        right = std::max(right, own.right());
        for (const int column : whole ? parts_.columns : std::vector<int>()) {
          if (spot(column).left > own.x || spot(column).right < own.right()) continue;
          left = std::min(left, spot(column).left);
          right = std::max(right, spot(column).right);
        }
      }
      if (left > right) left = kMargin + kFramePadding, right = left + 160;
      if (right - left < 120) right = left + 120;
      Rect bar = {left, 0, right - left, kBarHeight};
      size_t row = 0;
      const auto taken = [&](const Rect& other) { return other.x < right + 60 && left < other.right() + 60; };
      while (row < rows.size() && std::any_of(rows[row].begin(), rows[row].end(), taken)) ++row;
      if (row == rows.size()) rows.emplace_back();
      bar.y = bottom_ + kAboveBar + static_cast<double>(row) * (kBarHeight + kAboveBar);
      rows[row].push_back(bar);
      const auto count = static_cast<int64_t>(group.switches.size());
      const std::string several = plural(count, "NVSwitch");
      const int box = pen_.box(bar, BoxStyle::nvswitch,
                               count == 1 ? facts_of(graph_, children_, group.switches[0])
                                          : facts_of(graph_, group.switches, several),
                               count > 1);
      pen_.write(box, {{count == 1 ? "NVSwitch" : several, TextStyle::strong, 12}});
      for (const Index own : group.switches) place(own) = box;
    }
    right_ = std::accumulate(pen_.drawing.boxes.begin(), pen_.drawing.boxes.end(), right_,
                             [](double most, const Box& box) { return std::max(most, box.rect.right()); });
    bottom_ += static_cast<double>(rows.size()) * (kBarHeight + kAboveBar);
  }

  void add_wires(const std::vector<Bundle>& links, const std::vector<int>& circles) {
    HostWires wires(pen_, links, circles);
    for (size_t i = 0; i < parts_.parts.size(); ++i) {
      const int own = static_cast<int>(i);
      if (part(own).parent < 0) continue;
      std::vector<int> stops = {spot(part(own).parent).box};
      stops.insert(stops.end(), spot(own).dots.begin(), spot(own).dots.end());
      stops.push_back(spot(own).box);
      wires.add_line(stops, link_x(own));
      double speed = 0;
      if (pen_.drawing.boxes[static_cast<size_t>(spot(own).box)].style != BoxStyle::nic) continue;
      for (const Index nic : part(own).members) speed += speed_of(graph_, children_, nic);
      if (speed > 0)
        wires.add_way_out(spot(own).box, speed, frames_bottom_ + kWayOut,
                          network_facts(graph_, children_, part(own).members),
                          busy_outside(part(own).members));
    }
    wires.add_others();
  }

  /// Load of the busiest link from a NIC into the network; -1: not shown.
  double busy_outside(const std::vector<Index>& nics) const {
    if (traffic_.empty()) return -1;
    const std::vector<double> busy = busy_shares(graph_, traffic_);
    const auto own = [&](Index node) {
      const Index nic = graph_.holder(node, NodeKind::nic);
      return nic != kNone && std::find(nics.begin(), nics.end(), nic) != nics.end();
    };
    double most = 0;
    for (size_t link = 0; link < busy.size(); ++link)
      if (own(graph_.links()[link].from) != own(graph_.links()[link].to)) most = std::max(most, busy[link]);
    return most;
  }

  void remarks(int64_t not_on_rings) {
    const std::pair<int64_t, std::string> lists[] = {
        {parts_.left_out, plural(parts_.left_out, "more device") + " without space here"},
        {parts_.empty_columns, plural(parts_.empty_columns, "more NUMA node") + " without devices"},
        {not_on_rings, fmt::format("links among {}", plural(not_on_rings, "GPU"))}};
    for (const auto& [count, what] : lists) {
      if (count > 0) pen_.write({kMargin, bottom_ + 12}, {"Not drawn: " + what, TextStyle::warning, 11});
      bottom_ += count > 0 ? 18 : 0;
    }
  }

  const Graph& graph_;
  const Index host_;
  const std::string more_;
  const LinkTraffic& traffic_;
  const std::vector<std::vector<Index>> children_;
  const HostParts parts_;
  std::vector<Spot> spots_;  ///< index: part
  std::vector<int> place_;   ///< index: node; its box
  double gpu_width_ = kDeviceWidth, nic_width_ = kDeviceWidth;
  double gap_ = kDeviceGap, group_gap_ = kGroupGap;
  double top_ = 0;
  double bottom_ = 0;
  double right_ = 0;
  double frames_bottom_ = 0;
  Pen pen_;
};

}  // namespace

Drawing layout_of_host(const Graph& graph, Index host, const std::string& more, const LinkTraffic& traffic) {
  return HostPicture(graph, host, more, traffic).draw();
}

}  // namespace weir::topology
