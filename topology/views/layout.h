// SPDX-License-Identifier: Apache-2.0
/// Pictures of a graph as geometry: positions of boxes, wires and texts, before they are written as SVG.
///
/// Units are pixels at full size, x to the right and y down. Boxes are nested or disjoint; a text is inside
/// its box; a label is on its wire and overlaps no box and no other label.
/// Tests: tests/topology/views_test.cc
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
  frame,  ///< contains other boxes
  head,   ///< the title of a frame
  bridge,
  dot,  ///< a bridge through which a link merely passes
  gpu,
  ring,  ///< a second box of a GPU, where the links among GPUs are drawn
  nic,
  nvswitch,
  host,
  fabric_switch,
};

struct Box {
  Rect rect;
  BoxStyle style = BoxStyle::frame;
  bool pile = false;  ///< represents several: drawn with edges behind it, 6 pixels to the right and up
  std::string facts;  ///< lines of the tooltip; the first one is the title. Empty: no tooltip
  int twin = -1;      ///< index of the same GPU's other box, on a ring or off it
};

/// A connection of two boxes.
struct Wire {
  std::vector<Point> points;  ///< 2: a line, 4: a cubic Bezier curve
  LinkKind kind = LinkKind::pci;
  bool link = true;   ///< false: containment without a known link
  bool known = true;  ///< whether its speed is known
  double width = 1;
  int a = -1;  ///< indices in Drawing::boxes
  int b = -1;
  std::string facts;
  bool out = false;  ///< leads out of the picture: b is -1
  double busy = -1;  ///< load relative to the busiest link; -1: not shown
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
  double x = 0;  ///< x of its left end, or of its middle
  double y = 0;  ///< y of its baseline
  double size = 11;
  bool centered = false;
  TextStyle style = TextStyle::plain;
  int box = -1;   ///< index of the box that contains it, or -1
  int wire = -1;  ///< index of the wire that it labels, or -1

  bool bold() const { return style == TextStyle::title || style == TextStyle::strong; }
  Rect rect() const;  ///< the area that it may cover
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
  std::vector<Box> boxes;  ///< outer boxes come before the boxes they contain
  std::vector<Wire> wires;
  std::vector<Text> texts;
  std::vector<Sample> samples;
};

/// One host: NUMA nodes as columns that contain PCIe switches that contain GPUs and NICs; below them
/// NVSwitches, and links among GPUs on rings. Many NICs (or GPUs) on one switch are folded into one box, and
/// devices beyond 40 are omitted with a remark. `more` is added to the line below the title. REQUIRES:
/// check(graph) is ok, and `host` is a host of it. With `traffic` the wires show their load.
Drawing layout_of_host(const Graph& graph, Index host, const std::string& more = {},
                       const LinkTraffic& traffic = {});

/// The switches of the network, by level, above the hosts; equal ones are folded if there are more than can
/// be read. REQUIRES: check(graph) is ok.
Drawing layout_of_fabric(const Graph& graph, const LinkTraffic& traffic = {});

}  // namespace weir::topology
