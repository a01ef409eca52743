// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/switch_removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/network/max_flow.h"
#include "algorithms/packing/balance.h"
#include "algorithms/packing/islands.h"
#include "algorithms/packing/supply.h"

namespace weir::algorithms {
namespace {

/// An edge into the switch and one out of it, identified by their far ends, and the amount to join.
struct Joint {
  int from;
  int to;
  int64_t amount;
};

class Removal {
 public:
  Removal(LogicalGraph& graph, Supply& supply) : graph_(graph), supply_(supply), islands_(graph) {}

  void remove(int node) {
    middle_ = node;
    for (int from : graph_.sources(node)) {
      for (int to : graph_.targets(node)) supply_.change(from, to, 0);
    }
    const Islands::Names island = islands_.without(node);
    const auto far = [&](int from, int to) {
      return island[static_cast<size_t>(from)] != island[static_cast<size_t>(to)];
    };
    const auto any = [](int from, int to) { return from != to; };
    join_all(even(far));
    join_all(even(any));
    // In small amounts first, so that no pair takes what all could share.
    for (const Joint& joint : even(far)) join_most(joint);
    for (const Joint& joint : even(any)) join_most(joint);
    for (int from : graph_.sources(middle_)) {
      for (int to : graph_.targets(middle_)) {
        join_most({from, to, std::min(graph_.capacity(from, middle_), graph_.capacity(middle_, to))});
      }
    }
  }

 private:
  void change(const Joint& joint, int64_t amount) {
    supply_.change(joint.from, middle_, -amount);
    supply_.change(middle_, joint.to, -amount);
    supply_.change(joint.from, joint.to, amount);
  }

  /// Joins as much as the switch still can over the pairs that `may(from, to)` allows, spread evenly.
  template <typename May>
  std::vector<Joint> even(May&& may) const {
    const std::vector<int> from = graph_.sources(middle_);
    const std::vector<int> to = graph_.targets(middle_);
    const int ins = static_cast<int>(from.size());
    const int outs = static_cast<int>(to.size());
    std::vector<Edge> edges;
    std::vector<Joint> joints;
    for (int i = 0; i < ins; ++i) {
      const int head = from[static_cast<size_t>(i)];
      __int128 wanted = 0;
      for (int tail : to) wanted += may(head, tail) ? graph_.capacity(middle_, tail) : 0;
      for (int j = 0; j < outs && wanted > 0; ++j) {
        const int k = (i + 1 + j) % outs;  // each one begins with a different one
        const int tail = to[static_cast<size_t>(k)];
        if (!may(head, tail)) continue;
        const __int128 product =
            static_cast<__int128>(graph_.capacity(head, middle_)) * graph_.capacity(middle_, tail);
        edges.push_back({i, ins + k, static_cast<int64_t>((product + wanted - 1) / wanted)});
        joints.push_back({head, tail, 0});
      }
    }
    const int sink = ins + outs;
    for (int k = 0; k < outs; ++k) {
      edges.push_back({ins + k, sink, graph_.capacity(middle_, to[static_cast<size_t>(k)])});
    }
    MaxFlow<int64_t> flow(sink + 1, edges);
    for (int i = 0; i < ins; ++i) flow.set_supply(i, graph_.capacity(from[static_cast<size_t>(i)], middle_));
    flow.run(sink, graph_.entering(middle_));
    for (size_t e = 0; e < joints.size(); ++e) joints[e].amount = flow.flow(e);
    std::erase_if(joints, [](const Joint& joint) { return joint.amount == 0; });
    return joints;
  }

  /// Joins all of them or none.
  void join_all(const std::vector<Joint>& joints) {
    if (joints.empty()) return;
    for (const Joint& joint : joints) change(joint, joint.amount);
    if (supply_.shortfall() == 0) {
      for (const Joint& joint : joints) graph_.split(joint.from, middle_, joint.to, joint.amount);
    } else {
      for (const Joint& joint : joints) change(joint, -joint.amount);
    }
  }

  /// Joins as much as possible without a shortfall at any rank. Joining too much narrows every violated cut
  /// by the same amount, so that the shortfall is the amount to take back, and the cut found can exclude
  /// other pairs from then on.
  void join_most(Joint joint) {
    joint.amount =
        std::min({joint.amount, graph_.capacity(joint.from, middle_), graph_.capacity(middle_, joint.to)});
    if (joint.amount == 0 || forbidden(joint)) return;
    change(joint, joint.amount);
    const int64_t back = supply_.shortfall();
    if (back > 0) {
      change(joint, -back);
      tight_.push_back(supply_.cut());
    }
    if (joint.amount > back) graph_.split(joint.from, middle_, joint.to, joint.amount - back);
  }

  /// Whether a tight cut would be narrowed: both far ends on one side, the switch on the other.
  bool forbidden(const Joint& joint) const {
    return std::any_of(tight_.rbegin(), tight_.rend(), [&](const std::vector<char>& cut) {
      const auto side = [&](int node) { return cut[static_cast<size_t>(node)]; };
      return side(joint.from) == side(joint.to) && side(joint.from) != side(middle_);
    });
  }

  LogicalGraph& graph_;
  Supply& supply_;
  const Islands islands_;
  int middle_ = 0;
  std::vector<std::vector<char>> tight_;  // splitting never widens a cut, so that they stay tight
};

/// Switches, those with the fastest links first: switches between neighbours before switches between islands.
std::vector<int> in_order(const LogicalGraph& graph) {
  std::vector<int> order(static_cast<size_t>(graph.nodes()));
  std::iota(order.begin(), order.end(), 0);
  const auto& ranks = graph.network().rank_nodes;
  std::erase_if(order, [&](int node) { return std::find(ranks.begin(), ranks.end(), node) != ranks.end(); });
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const auto links_a = static_cast<int64_t>(graph.sources(a).size());
    const auto links_b = static_cast<int64_t>(graph.sources(b).size());
    const __int128 left = static_cast<__int128>(graph.entering(a)) * links_b;
    const __int128 right = static_cast<__int128>(graph.entering(b)) * links_a;
    return left != right ? left > right : links_a < links_b;
  });
  return order;
}

}  // namespace

Status remove_switches(LogicalGraph& graph, const std::vector<int64_t>& shares) {
  Supply supply(graph, shares);
  if (const int64_t lacking = supply.shortfall(); lacking > 0) {
    return {
        Code::invalid_argument,
        fmt::format("a rank lacks {} of its trees: expected shares that fit into the capacities", lacking)};
  }
  WEIR_TRY(balance_switches(graph, supply));
  Removal removal(graph, supply);
  for (int node : in_order(graph)) {
    removal.remove(node);
    if (graph.entering(node) == 0 && graph.leaving(node) == 0) continue;
    return {Code::internal_error, fmt::format("the switch at node {} could not be removed", node)};
  }
  return {};
}

}  // namespace weir::algorithms
