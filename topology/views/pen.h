// SPDX-License-Identifier: Apache-2.0
/// Draws into a Drawing: boxes with their texts, wires with their labels, a legend.
#pragma once

#include <string>
#include <vector>

#include "topology/views/facts.h"
#include "topology/views/layout.h"

namespace weir::topology {

inline constexpr double kMargin = 28;     ///< around a picture
inline constexpr double kBarHeight = 36;  ///< height of the box of a switch between GPUs

/// How wide links are drawn: the fastest of a drawing decides, so that slow ones are thin in every drawing.
class Strokes {
 public:
  Strokes() = default;
  /// `most`: GB/s of the fastest. 0: no speed is known.
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

  /// Lines below each other in the middle of a box, each cut to fit. Empty ones are left out.
  void write(int box, const std::vector<Line>& lines);
  /// A text at the left of `at`, in no box.
  void write(Point at, const Line& line);

  /// A wire for `bundle` between two boxes that are drawn.
  void wire(const Bundle& bundle, std::vector<Point> points, double width, int a, int b);
  /// From a box out of the picture, into the network.
  void way_out(int box, double end, double gb_per_s, double width, std::string facts, double busy);
  /// No link is known, but that one holds the other.
  void hold(Point from, Point to, int a, int b);

  /// Lines around `middle` of a wire, if nothing is in their way; they interrupt it there.
  bool label(int wire, Point middle, const std::vector<std::string>& lines);
  bool label(Point middle, const std::vector<std::string>& lines) {
    return label(static_cast<int>(drawing.wires.size()) - 1, middle, lines);
  }

  /// What the colours of wires with traffic mean, in a line at y; the y below it. Nothing where none has
  /// traffic.
  double heat_legend(double x, double y);

  /// What the wires of the drawing are, from (x, y) in columns up to the right edge; the y below it.
  double legend(double x, double y, double right);

  /// Everything fits with a margin.
  void finish(double margin);

  Drawing drawing;

 private:
  struct Sort {
    Bundle bundle;  ///< without a second end: out of the picture
    double width;
    int64_t times;
  };
  void count(const Bundle& bundle, double width);

  std::vector<Sort> sorts_;  ///< of wires, for the legend
};

/// The point at `t` from 0 to 1 of a wire.
Point along(const std::vector<Point>& points, double t);

}  // namespace weir::topology
