// SPDX-License-Identifier: Apache-2.0
/// The links of a host as wires between boxes whose positions are known.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <vector>

#include "topology/views/pen.h"

namespace weir::topology {

class HostWires {
 public:
  /// `links`: between boxes of `pen`. `circles`: see RingPanel.
  HostWires(Pen& pen, const std::vector<Bundle>& links, const std::vector<int>& circles);

  /// From `stops[0]` straight down at x through all stops; the label, above the last one, gives the bandwidth
  /// of the narrowest of these links.
  void add_line(const std::vector<int>& stops, double x);
  /// From a NIC to the edge of the picture.
  void add_way_out(int nic, double gb_per_s, double end, std::string facts, double busy);
  /// Draws all links that have no line yet.
  void add_others();

 private:
  double width(const Bundle& bundle) const;
  BoxStyle style(int box) const { return pen_.drawing.boxes[static_cast<size_t>(box)].style; }
  bool joins(const Bundle& bundle, BoxStyle first, BoxStyle second) const;
  void label(const std::vector<Point>& points, const Bundle& bundle);
  void add_other(const Bundle& bundle);
  void add_between_processors(const Bundle& bundle);
  void add_chord(const Bundle& bundle);
  void add_to_switch(const Bundle& bundle);
  void add_to_processor(const Bundle& bundle);

  Pen& pen_;
  const std::vector<Bundle>& links_;
  const std::vector<int>& circles_;
  std::vector<bool> drawn_;  ///< index: link
  Strokes strokes_;
  bool arcs_differ_ = false;  ///< whether arcs differ in speed, so that each needs a label
};

/// Start of a GPU's links to the processor, as a fraction of its box's width: over PCIe, and beside it.
inline constexpr double kFirstWay = 0.27;
inline constexpr double kSecondWay = 0.73;

}  // namespace weir::topology
