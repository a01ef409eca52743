// SPDX-License-Identifier: Apache-2.0

#include "algorithms/spanning/splitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "algorithms/bound/partition.h"

namespace weir::algorithms {
namespace {

/// Tentative capacities: checks whether they allow the trees.
class Trial {
 public:
  Trial(const DuplexGraph& graph, int64_t trees) : ratio_(2 * static_cast<Int128>(trees), 1) {
    network_.nodes = graph.network().nodes;
    network_.rank_nodes = graph.network().rank_nodes;
    for (const DuplexLink& link : graph.links()) change(link.a, link.b, link.capacity);
  }

  void change(int32_t a, int32_t b, int64_t amount) {
    capacities_[{std::min(a, b), std::max(a, b)}] += amount;
  }
  void join(int32_t a, int32_t middle, int32_t b, int64_t amount) {
    change(a, middle, -amount);
    change(middle, b, -amount);
    change(a, b, amount);
  }

  bool holds() {
    network_.edges.clear();
    for (const auto& [ends, capacity] : capacities_) {
      if (capacity == 0) continue;
      network_.edges.push_back({ends.first, ends.second, capacity});
      network_.edges.push_back({ends.second, ends.first, capacity});
    }
    // Capacity between the parts is counted from both sides.
    return network_.ranks() < 2 || narrowest_partition(network_, {ratio_, {}}).sets.empty();
  }

 private:
  Ratio ratio_;
  Network network_;
  std::map<std::pair<int32_t, int32_t>, int64_t> capacities_;
};

struct Joint {
  int32_t a;
  int32_t b;
  int64_t amount;
};

/// Removes one switch after the other.
class Splitting {
 public:
  Splitting(DuplexGraph& graph, int64_t trees) : graph_(graph), trial_(graph, trees) {}

  Status remove(int32_t node) {
    middle_ = node;
    join_all(even());
    // In small amounts first, so that no pair takes what all could share.
    for (const Joint& joint : even()) join_most(joint.a, joint.b, joint.amount);
    for (const Joint& joint : even()) join_most(joint.a, joint.b, INT64_MAX);
    const int64_t left = graph_.degree(node);
    if (left == 0) return {};
    for (int32_t other : graph_.neighbours(node)) trial_.change(node, other, -graph_.capacity(node, other));
    graph_.clear(node);
    if (trial_.holds()) return {};
    return {
        Code::invalid_argument,
        fmt::format("the switch at node {} cannot join {} of its capacity without losing trees", node, left)};
  }

 private:
  /// All pairs of neighbours, the most distant ones in the order of nodes first, and the capacity of each if
  /// all had equal shares.
  std::vector<Joint> even() const {
    const std::vector<int32_t> ends = graph_.neighbours(middle_);
    const int64_t sum = graph_.degree(middle_);
    std::vector<Joint> joints;
    for (size_t step = ends.size() / 2; step > 0; --step) {
      for (size_t i = 0; i < ends.size(); ++i) {
        const size_t j = (i + step) % ends.size();
        if (2 * step == ends.size() && j < i) continue;
        const int64_t one = graph_.capacity(ends[i], middle_);
        const int64_t other = graph_.capacity(ends[j], middle_);
        const __int128 share = static_cast<__int128>(one) * other / (sum - std::min(one, other));
        joints.push_back({ends[i], ends[j], static_cast<int64_t>(share)});
      }
    }
    return joints;
  }

  int64_t possible(int32_t a, int32_t b, int64_t amount) const {
    return std::min({amount, graph_.capacity(a, middle_), graph_.capacity(b, middle_)});
  }

  /// Joins all of them or none.
  void join_all(const std::vector<Joint>& joints) {
    const Trial before = trial_;
    std::map<int32_t, int64_t> left;
    for (int32_t node : graph_.neighbours(middle_)) left[node] = graph_.capacity(node, middle_);
    std::vector<Joint> fitting;
    for (Joint joint : joints) {
      joint.amount = std::min({joint.amount, left[joint.a], left[joint.b]});
      if (joint.amount == 0) continue;
      left[joint.a] -= joint.amount;
      left[joint.b] -= joint.amount;
      trial_.join(joint.a, middle_, joint.b, joint.amount);
      fitting.push_back(joint);
    }
    if (trial_.holds()) {
      for (const Joint& joint : fitting) graph_.join(joint.a, middle_, joint.b, joint.amount);
    } else {
      trial_ = before;
    }
  }

  /// Joins as much of `amount` as possible without losing trees.
  void join_most(int32_t a, int32_t b, int64_t amount) {
    int64_t high = possible(a, b, amount);
    int64_t low = 0;
    for (int64_t next = high; low < high; next = low == 0 && high > 1 ? 1 : (low + high + 1) / 2) {
      trial_.join(a, middle_, b, next);
      if (trial_.holds()) {
        low = next;
      } else {
        high = next - 1;
      }
      trial_.join(a, middle_, b, -next);
    }
    if (low == 0) return;
    trial_.join(a, middle_, b, low);
    graph_.join(a, middle_, b, low);
  }

  DuplexGraph& graph_;
  Trial trial_;
  int32_t middle_ = 0;
};

/// Switches, those with the fastest links first: switches between neighbours before switches between islands.
std::vector<int32_t> in_order(const DuplexGraph& graph) {
  std::vector<char> is_rank(static_cast<size_t>(graph.network().nodes));
  for (int32_t node : graph.network().rank_nodes) is_rank[static_cast<size_t>(node)] = 1;
  std::vector<int32_t> order;
  for (int32_t node = 0; node < graph.network().nodes; ++node) {
    if (is_rank[static_cast<size_t>(node)] == 0 && graph.degree(node) > 0) order.push_back(node);
  }
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const auto links_a = static_cast<__int128>(graph.neighbours(a).size());
    const auto links_b = static_cast<__int128>(graph.neighbours(b).size());
    return graph.degree(a) * links_b > graph.degree(b) * links_a;
  });
  return order;
}

}  // namespace

bool bears(const DuplexGraph& graph, int64_t trees) { return Trial(graph, trees).holds(); }

Status split_off_switches(DuplexGraph& graph, int64_t trees) {
  if (!bears(graph, trees)) {
    return {Code::invalid_argument,
            fmt::format("{} spanning trees do not fit: expected fewer, or more capacity", trees)};
  }
  Splitting splitting(graph, trees);
  for (int32_t node : in_order(graph)) WEIR_TRY(splitting.remove(node));
  return {};
}

}  // namespace weir::algorithms
