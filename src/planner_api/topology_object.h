// SPDX-License-Identifier: Apache-2.0
/// What a weirTopology points to: the graph, and what callers ask of it.
/// Tests: tests/api/planner_api_test.cc
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/planner_api/text_sink.h"
#include "topology/model/derive.h"
#include "topology/model/graph.h"

namespace weir::planner_api {

/// Constant once it is made, so that any number of threads may ask at once. Never moved: lists point into it.
class TopologyObject : public weirTopology {
 public:
  TopologyObject(topology::Graph graph, std::vector<std::string> notes);
  TopologyObject(const TopologyObject&) = delete;
  TopologyObject& operator=(const TopologyObject&) = delete;

  const topology::Graph& graph() const { return graph_; }
  /// See Topology::nearest_nics() and Topology::switches() in weir/topology.h.
  std::vector<int> nearest_nics(topology::Index device) const;
  std::vector<int> switches_above(topology::Index host, int level) const;

 private:
  void fill_nodes();
  void fill_links();
  void fill_leaves();
  /// The host of a node alone, and by its nodes those of the whole graph.
  topology::Graph host_graph(topology::Index host, std::vector<topology::Index>& origin) const;

  const topology::Graph graph_;
  const topology::Adjacency adjacency_;
  const std::vector<std::string> note_texts_;
  const std::vector<topology::Leaf> leaf_parts_;
  std::vector<Node> node_list_;
  std::vector<Link> link_list_;
  std::vector<Leaf> leaf_list_;
  std::vector<int> host_list_;
  std::vector<int> device_list_;
  std::vector<const char*> note_list_;
  std::vector<std::vector<int>> nodes_in_;   ///< nodes in each host, itself included; indexed by node
  std::vector<std::vector<int>> leaves_of_;  ///< leaves of each host; indexed by node
};

/// Errors: invalid_argument for null.
Result<const TopologyObject*> topology_of(const weirTopology* handle);

}  // namespace weir::planner_api
