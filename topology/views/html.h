// SPDX-License-Identifier: Apache-2.0
/// A graph as one self-contained HTML page.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/model/graph.h"
#include "topology/views/traffic.h"

namespace weir::topology {

/// Counts of devices, the network, and one host of each class (see host_classes(); the 24 classes with the
/// most hosts). Pointing at a box or a line shows its facts and dims everything that is not connected to it.
/// REQUIRES: check(graph) is ok.
std::string html_of(const Graph& graph);

/// A page about something that runs on the graph.
struct TopologyPage {
  std::string title;
  std::vector<std::pair<std::string, std::string>> numbers;  ///< pairs of name and value
  std::vector<std::string> sentences;                        ///< sentences below the numbers
  std::string picture;                                       ///< HTML below the pictures; empty: none
  LinkTraffic traffic;                                       ///< traffic shown on network and hosts
};
std::string html_of(const Graph& graph, const TopologyPage& story);

}  // namespace weir::topology
