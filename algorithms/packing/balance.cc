// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/balance.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::algorithms {
namespace {

class Balance {
 public:
  Balance(LogicalGraph& graph, Supply& supply)
      : graph_(graph), supply_(supply), is_switch_(static_cast<size_t>(graph.nodes()), 1) {
    for (int32_t node : graph.network().rank_nodes) is_switch_[static_cast<size_t>(node)] = 0;
  }

  Status run() {
    // Reducing one switch may unbalance another: repeat until nothing changes.
    while (round()) {
    }
    for (int node = 0; node < graph_.nodes(); ++node) {
      if (surplus(node) == 0) continue;
      return {Code::invalid_argument,
              fmt::format(
                  "the switch at node {} receives {} and sends {} of what is needed: expected equal amounts",
                  node, graph_.entering(node), graph_.leaving(node))};
    }
    return {};
  }

 private:
  int64_t surplus(int node) const {
    return is_switch_[static_cast<size_t>(node)] ? graph_.entering(node) - graph_.leaving(node) : 0;
  }

  bool round() {
    bool changed = false;
    for (int node = 0; node < graph_.nodes(); ++node) {
      const int64_t excess = surplus(node);
      if (excess > 0) {
        for (int from : graph_.sources(node)) changed |= trim(from, node, surplus(node));
      } else if (excess < 0) {
        for (int to : graph_.targets(node)) changed |= trim(node, to, -surplus(node));
      }
    }
    return changed;
  }

  bool trim(int from, int to, int64_t most) {
    const int64_t wanted = std::min(most, graph_.capacity(from, to));
    if (wanted <= 0) return false;
    supply_.change(from, to, -wanted);
    const int64_t needed = std::min(wanted, supply_.shortfall());
    supply_.change(from, to, needed);
    if (wanted > needed) graph_.reduce(from, to, wanted - needed);
    return wanted > needed;
  }

  LogicalGraph& graph_;
  Supply& supply_;
  std::vector<char> is_switch_;
};

}  // namespace

Status balance_switches(LogicalGraph& graph, Supply& supply) { return Balance(graph, supply).run(); }

}  // namespace weir::algorithms
