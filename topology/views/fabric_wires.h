// SPDX-License-Identifier: Apache-2.0
/// The links of a network as wires between rows of boxes whose positions are known.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/views/pen.h"

namespace weir::topology {

/// How far wires within a row extend above switches or below hosts, in pixels.
inline constexpr double kArcHeight = 40;

/// Text per y of the lower row: the speed of each line, if there are too many lines for labels.
using EachLine = std::map<double, std::string>;

/// `links`: between boxes of `pen`.
EachLine add_fabric_wires(Pen& pen, const std::vector<Bundle>& links);

}  // namespace weir::topology
