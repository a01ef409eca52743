// SPDX-License-Identifier: Apache-2.0
/// Line plots as SVG, with colours from the page's style sheet (classes s0, s1, ...).
///
/// Thread safety: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weir::trainer {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool dots = false;  ///< draw dots instead of a line
};

/// A reference level.
struct Level {
  std::string name;
  double value = 0;
};

struct Plot {
  std::string title;
  std::string unit;  ///< unit of y; x counts steps
  std::vector<Series> series;
  std::vector<Level> levels;  ///< levels outside the range of the series are named at the edge
  bool from_zero = false;
  bool logarithmic = false;  ///< the y axis, if all values are above 0
};

/// Round numbers that divide low..high into at most `most` parts; at least two numbers. REQUIRES: low < high.
std::vector<double> ticks_of(double low, double high, int most);

/// Numbers 1, 2 and 5 times powers of ten in low..high, or those of ticks_of() if there are less than four.
/// REQUIRES: 0 < low < high.
std::vector<double> logarithmic_ticks(double low, double high);

/// Each series has its name beside its last point. Empty if no series has a point.
std::string svg_of(const Plot& plot);

/// Escapes text for use between tags and in attributes.
std::string escaped(const std::string& text);

}  // namespace weir::trainer
