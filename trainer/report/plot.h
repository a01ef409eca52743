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
  bool dots = false;  ///< instead of a line
};

/// A level to compare with.
struct Level {
  std::string name;
  double value = 0;
};

struct Plot {
  std::string title;
  std::string unit;  ///< of y; x are steps
  std::vector<Series> series;
  std::vector<Level> levels;  ///< those outside of what the series span are left out
  bool from_zero = false;
};

/// Round numbers that divide low..high into at most `most` parts; at least two. REQUIRES: low < high.
std::vector<double> ticks_of(double low, double high, int most);

/// Empty where no series has a point.
std::string svg_of(const Plot& plot);

/// For text between tags and in attributes.
std::string escaped(const std::string& text);

}  // namespace weir::trainer
