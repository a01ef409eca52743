// SPDX-License-Identifier: Apache-2.0
/// The links of a network as wires between rows of boxes that have their places.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/views/pen.h"

namespace weir::topology {

/// How far above switches, or below hosts, the wires within a row reach.
inline constexpr double kArcHeight = 40;

/// By the y of the lower row: how fast each line is, where they are too many to be labelled.
using EachLine = std::map<double, std::string>;

/// `links`: between boxes of `pen`.
EachLine add_fabric_wires(Pen& pen, const std::vector<Bundle>& links);

}  // namespace weir::topology
