// SPDX-License-Identifier: Apache-2.0
/// Draws into a Drawing: boxes with texts, wires with labels, a legend.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <string>
#include <vector>

#include "topology/views/facts.h"
#include "topology/views/layout.h"

namespace weir::topology {

inline constexpr double kMargin = 28;     ///< around a picture
inline constexpr double kBarHeight = 36;  ///< height of the box of a switch between GPUs

/// The width of links: relative to the fastest of the drawing, so that slow ones are thin in every drawing.
class Strokes {
 public:
  Strokes() = default;
  /// `most`: GB/s of the fastest link. 0: no speed is known.
  explicit Strokes(double most);
  double width(double gb_per_s) const;

 private:
  double most_ = 0;
  double widest_ = 3;
};

class Pen {
 public:
  struct Line {
    std::string text;
    TextStyle style = TextStyle::plain;
    double size = 11;
  };

  int box(const Rect& rect, BoxStyle style, std::string facts, bool pile = false);
  const Rect& rect(int box) const { return drawing.boxes[static_cast<size_t>(box)].rect; }
  const std::string& facts(int box) const { return drawing.boxes[static_cast<size_t>(box)].facts; }

  /// Writes centred lines into a box, each truncated to fit. Empty ones are skipped.
  void write(int box, const std::vector<Line>& lines);
  /// Writes a text that begins at `at`, outside boxes.
  void write(Point at, const Line& line);

  /// Draws a wire for `bundle` between two boxes.
  void wire(const Bundle& bundle, std::vector<Point> points, double width, int a, int b);
  /// Draws a wire from a box out of the picture, into the network.
  void way_out(int box, double end, double gb_per_s, double width, std::string facts, double busy);
  /// Draws containment without a known link.
  void hold(Point from, Point to, int a, int b);

  /// Writes lines around `middle` of a wire, unless they would overlap something; they interrupt the wire
  /// there.
  bool label(int wire, Point middle, const std::vector<std::string>& lines);
  bool label(Point middle, const std::vector<std::string>& lines) {
    return label(static_cast<int>(drawing.wires.size()) - 1, middle, lines);
  }

  /// Draws the legend of the colours of wires with traffic in a line at y; returns the y below it. Draws
  /// nothing if no wire has traffic.
  double heat_legend(double x, double y);

  /// Draws the legend of the wires from (x, y) in columns up to the right edge; returns the y below it.
  double legend(double x, double y, double right);

  /// Sets the size of the drawing such that everything fits with a margin.
  void finish(double margin);

  Drawing drawing;

 private:
  struct Sort {
    Bundle bundle;  ///< one without a second end leads out of the picture
    double width;
    int64_t times;
  };
  void count(const Bundle& bundle, double width);

  std::vector<Sort> sorts_;  ///< kinds of wires, for the legend
};

/// The point at parameter `t` from 0 to 1 of a wire.
Point along(const std::vector<Point>& points, double t);

}  // namespace weir::topology
