// SPDX-License-Identifier: Apache-2.0

#include "algorithms/bound/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// State of the iteration, independent of the number type of the flows.
class CutSearch {
 public:
  CutSearch(const Network& network, std::span<const int64_t> weights, std::span<const Rank> sinks,
            Direction direction);
  Result<Cut> run();

 private:
  template <typename Amount>
  bool fits() const;
  template <typename Amount>
  void look();
  template <typename Amount>
  void pass(MaxFlow<Amount>& flows, int32_t node);
  template <typename Amount>
  void pass_switch(MaxFlow<Amount>& flows, Amount wanted);
  void improve(std::span<const int32_t> inside);
  Status complaint() const;

  int32_t head(const Edge& edge) const { return direction_ == Direction::along ? edge.to : edge.from; }
  int32_t tail(const Edge& edge) const { return direction_ == Direction::along ? edge.from : edge.to; }

  const Network& network_;
  std::span<const int64_t> weights_;
  std::span<const Rank> sinks_;
  Direction direction_;
  int64_t divisor_ = 0;  // common divisor of all capacities
  Int128 total_capacity_ = 0;
  Int128 total_weight_ = 0;
  std::vector<int64_t> capacities_;  // index: edge; divided by the divisor
  std::vector<int32_t> rank_at_;     // index: node; -1: none
  std::vector<char> marked_;         // index: node; all 0 outside improve()
  std::vector<Int128> entering_;     // index: node; its incoming capacity, divided by the divisor
  std::vector<char> passed_;         // index: node; all sets that contain it are wide enough
  std::vector<uint32_t> searches_;   // index: switch; number of searches that reached it
  size_t next_ = 0;                  // the next sink to examine
  Cut cut_;                          // capacities are divided by the divisor
};

CutSearch::CutSearch(const Network& network, std::span<const int64_t> weights, std::span<const Rank> sinks,
                     Direction direction)
    : network_(network),
      weights_(weights),
      sinks_(sinks),
      direction_(direction),
      rank_at_(at(network.nodes), -1),
      marked_(at(network.nodes)),
      entering_(at(network.nodes)),
      passed_(at(network.nodes)),
      searches_(at(network.nodes)) {
  for (const Edge& edge : network.edges) divisor_ = std::gcd(divisor_, edge.capacity);
  for (const Edge& edge : network.edges) capacities_.push_back(edge.capacity / divisor_);
  for (int64_t capacity : capacities_) total_capacity_ += capacity;
  for (int64_t weight : weights) total_weight_ += weight;
  for (Rank rank = 0; rank < network.ranks(); ++rank) rank_at_[at(network.rank_nodes[at(rank)])] = rank;
}

/// Starts with the capacity into a sink alone.
Result<Cut> CutSearch::run() {
  for (size_t edge = 0; edge < capacities_.size(); ++edge) {
    entering_[at(head(network_.edges[edge]))] += capacities_[edge];
  }
  for (Rank sink : sinks_) {
    const int32_t node = network_.rank_nodes[at(sink)];
    const Int128 outside = total_weight_ - weights_[at(sink)];
    if (outside == 0) continue;
    const Ratio ratio(entering_[at(node)], outside);
    if (cut_.inside.empty() || ratio < cut_.ratio) cut_ = {ratio, {node}};
  }
  if (cut_.inside.empty()) {
    return Status(Code::invalid_argument,
                  "a bound on data that no rank must send: expected at least two ranks");
  }
  if (fits<int64_t>()) look<int64_t>();
  if (next_ < sinks_.size()) look<Int128>();
  if (cut_.ratio.numerator == 0) return complaint();
  cut_.ratio = Ratio(cut_.ratio.numerator * divisor_, cut_.ratio.denominator);
  std::sort(cut_.inside.begin(), cut_.inside.end());
  return std::move(cut_);
}

template <typename Amount>
bool CutSearch::fits() const {
  if constexpr (sizeof(Amount) == sizeof(Int128)) return true;
  constexpr Int128 kMost = std::numeric_limits<int64_t>::max() / 4;
  // Two steps, so that intermediate results do not overflow.
  return total_capacity_ < kMost && cut_.ratio.denominator < kMost / std::max<Int128>(1, total_capacity_) &&
         total_weight_ < kMost / std::max<Int128>(1, cut_.ratio.numerator);
}

/// Processes all sinks from the next one on, or until the numbers become too large for Amount. Capacities are
/// multiplied by the denominator of the ratio, so that the supplies are whole numbers.
template <typename Amount>
void CutSearch::look() {
  MaxFlow<Amount> flows(network_.nodes, network_.edges, direction_);
  const auto assume_ratio = [&] {
    flows.set_capacities(capacities_, static_cast<Amount>(cut_.ratio.denominator));
    for (int32_t node = 0; node < network_.nodes; ++node) {
      const Rank rank = rank_at_[at(node)];
      if (rank >= 0) flows.set_supply(node, static_cast<Amount>(cut_.ratio.numerator * weights_[at(rank)]));
      if (passed_[at(node)] != 0) flows.set_supply(node, MaxFlow<Amount>::kUnlimited);
    }
  };
  assume_ratio();
  while (next_ < sinks_.size() && cut_.ratio.numerator > 0) {
    const int32_t sink = network_.rank_nodes[at(sinks_[next_])];
    const auto wanted = static_cast<Amount>(cut_.ratio.numerator * total_weight_);
    if (flows.run(sink, wanted) < wanted) {
      improve(flows.sink_side());
      if (!fits<Amount>()) return;
      assume_ratio();
      continue;
    }
    ++next_;
    pass_switch(flows, wanted);
    pass(flows, sink);
  }
}

template <typename Amount>
void CutSearch::pass(MaxFlow<Amount>& flows, int32_t node) {
  flows.clear();
  flows.set_supply(node, MaxFlow<Amount>::kUnlimited);
  passed_[at(node)] = 1;
}

/// A switch may be treated like a sink; if it turns out wide enough, later searches end there, and otherwise
/// nothing follows. Of the switches that the last search reached, the widest is tried, and each one less and
/// less often.
template <typename Amount>
void CutSearch::pass_switch(MaxFlow<Amount>& flows, Amount wanted) {
  int32_t widest = -1;
  for (int32_t node : flows.reached()) {
    if (rank_at_[at(node)] >= 0 || passed_[at(node)] != 0) continue;
    if (!std::has_single_bit(++searches_[at(node)])) continue;
    if (widest < 0 || entering_[at(node)] > entering_[at(widest)]) widest = node;
  }
  if (widest < 0 || entering_[at(widest)] * cut_.ratio.denominator < wanted) return;
  flows.clear();
  if (flows.run(widest, wanted) == wanted) pass(flows, widest);
}

void CutSearch::improve(std::span<const int32_t> inside) {
  Int128 entering = 0;
  Int128 outside = total_weight_;
  for (int32_t node : inside) {
    marked_[at(node)] = 1;
    if (rank_at_[at(node)] >= 0) outside -= weights_[at(rank_at_[at(node)])];
  }
  for (size_t edge = 0; edge < capacities_.size(); ++edge) {
    const Edge& each = network_.edges[edge];
    if (marked_[at(head(each))] != 0 && marked_[at(tail(each))] == 0) entering += capacities_[edge];
  }
  for (int32_t node : inside) marked_[at(node)] = 0;
  cut_ = {Ratio(entering, outside), {inside.begin(), inside.end()}};
}

/// No capacity enters the cut.
Status CutSearch::complaint() const {
  std::vector<char> inside(at(network_.nodes));
  for (int32_t node : cut_.inside) inside[at(node)] = 1;
  Rank within = -1;
  Rank without = -1;
  for (Rank rank = network_.ranks() - 1; rank >= 0; --rank) {
    (inside[at(network_.rank_nodes[at(rank)])] != 0 ? within : without) = rank;
  }
  const bool along = direction_ == Direction::along;
  return Status(Code::invalid_argument,
                fmt::format("rank {} has no path to rank {}: expected a network that connects all ranks",
                            along ? without : within, along ? within : without));
}

}  // namespace

Result<Cut> narrowest_cut(const Network& network, std::span<const int64_t> weights,
                          std::span<const Rank> sinks, Direction direction) {
  return CutSearch(network, weights, sinks, direction).run();
}

}  // namespace weir::algorithms
