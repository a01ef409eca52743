// SPDX-License-Identifier: Apache-2.0
/// Merges several graphs that describe parts of the same cluster: what each rank or host sees, and the fabric
/// between them.
/// Tests: tests/topology/model_test.cc
#pragma once

#include <span>

#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// The union of `parts`, with identical nodes and links once. Identical are: ports of equal GUID, with their
/// NICs and hosts; hosts of equal identity, else of equal name; in one host, nodes with the same PCI address,
/// or the same kind, name and parent, and NICs one of which has the name of the other's port; on a NIC, ports
/// of equal number. Hosts with different identities are never identical, nor are their contents. Unknown
/// facts of one part are taken from the others. invalid_argument if two parts contradict each other: the
/// sentence names the device and both values. Links in several parts count once.
///
/// Deterministic: nodes are in the order of parts. Time: linear, apart from hashing.
Result<Graph> merge(std::span<const Graph> parts);

/// The nodes for which `keep` is true, with all nodes that contain them, and the links among them; in the
/// same order.
template <typename Keep>
Graph subgraph(const Graph& graph, Keep keep) {
  std::vector<char> kept(static_cast<size_t>(graph.size()));
  for (Index node = graph.size(); node-- > 0;) {
    char& own = kept[static_cast<size_t>(node)];
    own = static_cast<char>(own != 0 || keep(node));
    if (own != 0 && graph[node].parent != kNone) kept[static_cast<size_t>(graph[node].parent)] = 1;
  }
  Graph part;
  std::vector<Index> place(kept.size(), kNone);
  for (Index node = 0; node < graph.size(); ++node) {
    if (kept[static_cast<size_t>(node)] == 0) continue;
    Node copy = graph[node];
    if (copy.parent != kNone) copy.parent = place[static_cast<size_t>(copy.parent)];
    place[static_cast<size_t>(node)] = part.add(std::move(copy));
  }
  for (Link link : graph.links()) {
    link.from = place[static_cast<size_t>(link.from)];
    link.to = place[static_cast<size_t>(link.to)];
    if (link.from != kNone && link.to != kNone) part.add(link);
  }
  return part;
}

}  // namespace weir::topology
