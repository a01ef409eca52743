// SPDX-License-Identifier: Apache-2.0
/// A graph as one page for a browser: no network, no other files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/model/graph.h"
#include "topology/views/traffic.h"

namespace weir::topology {

/// What there is in numbers, the network, and one host of each class (see host_classes(); of the 24 classes
/// with the most hosts). Pointing at a box or a line tells its facts and dims what is not joined to it.
/// REQUIRES: check(graph) is ok.
std::string html_of(const Graph& graph);

/// A page about something that runs on the graph.
struct Story {
  std::string title;
  std::vector<std::pair<std::string, std::string>> numbers;  ///< what, and how much
  std::vector<std::string> sentences;                        ///< below the numbers
  std::string picture;                                       ///< behind the others, as HTML; empty: none
  Traffic traffic;                                           ///< shown on network and hosts
};
std::string html_of(const Graph& graph, const Story& story);

}  // namespace weir::topology
