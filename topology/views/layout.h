// SPDX-License-Identifier: Apache-2.0
/// Pictures of a graph as geometry: what is drawn where, before it is written as SVG.
///
/// Units are pixels at full size, x to the right and y down. Boxes lie inside one another or apart; a text
/// lies in its box, a label on its wire and clear of all boxes and of other labels.
#pragma once

#include <string>
#include <vector>

#include "topology/model/graph.h"
#include "topology/views/traffic.h"

namespace weir::topology {

struct Point {
  double x = 0;
  double y = 0;
};

struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
  double middle() const { return x + width / 2; }
  double center() const { return y + height / 2; }
  bool overlaps(const Rect& other) const {
    return x < other.right() && other.x < right() && y < other.bottom() && other.y < bottom();
  }
  bool holds(const Rect& other) const {
    return x <= other.x && y <= other.y && other.right() <= right() && other.bottom() <= bottom();
  }
};

enum class BoxStyle : uint8_t {
  frame,  ///< holds other boxes
  head,   ///< the title of a frame
  bridge,
  dot,  ///< a bridge that a link merely passes
  gpu,
  ring,  ///< the same GPU again, where the links among GPUs are drawn
  nic,
  nvswitch,
  host,
  fabric_switch,
};

struct Box {
  Rect rect;
  BoxStyle style = BoxStyle::frame;
  bool pile = false;  ///< stands for several: drawn with edges behind it, 6 pixels to the right and up
  std::string facts;  ///< lines; the first one says what it is. Empty: nothing to tell
  int twin = -1;      ///< the place of the same GPU's other box, on a ring or off it
};

/// What connects two boxes.
struct Wire {
  std::vector<Point> points;  ///< 2: a line, 4: a cubic Bezier curve
  LinkKind kind = LinkKind::pci;
  bool link = true;   ///< false: nothing but containment is known
  bool known = true;  ///< its speed
  double width = 1;
  int a = -1;  ///< places in Drawing::boxes
  int b = -1;
  std::string facts;
  bool out = false;  ///< it leaves the picture: b is -1
  double busy = -1;  ///< as a share of the busiest link; -1: not shown
};

enum class TextStyle : uint8_t {
  title,
  strong,
  plain,
  muted,
  warning,
  label,  ///< on a wire, which it interrupts
  faint   ///< a label's second line
};

struct Text {
  std::string text;
  double x = 0;  ///< of its left end, or its middle
  double y = 0;  ///< of the line it stands on
  double size = 11;
  bool centered = false;
  TextStyle style = TextStyle::plain;
  int box = -1;   ///< the one it lies in, or -1
  int wire = -1;  ///< the one it is a label of, or -1

  bool bold() const { return style == TextStyle::title || style == TextStyle::strong; }
  Rect rect() const;  ///< what it may cover
};

/// A line of the legend.
struct Sample {
  Point from;
  double length = 0;
  LinkKind kind = LinkKind::pci;
  bool known = true;
  double width = 1;
  double busy = -1;
};

struct Drawing {
  double width = 0;
  double height = 0;
  std::string title;
  std::vector<Box> boxes;  ///< what holds others comes before them
  std::vector<Wire> wires;
  std::vector<Text> texts;
  std::vector<Sample> samples;
};

/// One host: NUMA nodes as columns that hold PCIe switches that hold GPUs and NICs; below them NVSwitches,
/// and links among GPUs on rings. Of many NICs (or GPUs) on one switch one stands for all, and what exceeds
/// 40 devices is left out with a remark. `more` is added to the line below the title. REQUIRES: check(graph)
/// is ok, and `host` is a host of it. With `traffic` the wires say how busy they are.
Drawing layout_of_host(const Graph& graph, Index host, const std::string& more = {},
                       const Traffic& traffic = {});

/// The switches of the network, by level, above the hosts; what is alike is folded where there is more than
/// can be read. REQUIRES: check(graph) is ok.
Drawing layout_of_fabric(const Graph& graph, const Traffic& traffic = {});

}  // namespace weir::topology
