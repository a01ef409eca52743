/// A graph as one page for a browser: no network, no other files.
#pragma once

#include <string>

#include "topology/model/graph.h"

namespace weir::topology {

/// What there is in numbers, the network, and one host of each class (see host_classes(); of the 24 classes
/// with the most hosts). Pointing at a box or a line tells its facts and dims what is not joined to it.
/// REQUIRES: check(graph) is ok.
std::string html_of(const Graph& graph);

}  // namespace weir::topology
