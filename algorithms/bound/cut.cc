#include "algorithms/bound/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace weir::algorithms {
namespace {

template <typename Place>
size_t at(Place place) {
  return static_cast<size_t>(place);
}

/// The state of the iteration, whatever numbers the flows are computed with.
class Search {
 public:
  Search(const Network& network, std::span<const int64_t> weights, std::span<const Rank> sinks,
         Direction direction);
  Result<Cut> run();

 private:
  template <typename Amount>
  bool fits() const;
  template <typename Amount>
  void look();
  void improve(std::span<const int32_t> inside);
  Status complaint() const;

  int32_t head(const Edge& edge) const { return direction_ == Direction::along ? edge.to : edge.from; }
  int32_t tail(const Edge& edge) const { return direction_ == Direction::along ? edge.from : edge.to; }

  const Network& network_;
  std::span<const int64_t> weights_;
  std::span<const Rank> sinks_;
  Direction direction_;
  int64_t divisor_ = 0;  // of all capacities
  Int128 total_capacity_ = 0;
  Int128 total_weight_ = 0;
  std::vector<int64_t> capacities_;  // by edge, over the divisor
  std::vector<int32_t> rank_at_;     // by node; -1: none
  std::vector<char> marked_;         // by node; all 0 outside of improve()
  size_t next_ = 0;                  // the sink to look at
  Cut cut_;                          // with capacities over the divisor
};

Search::Search(const Network& network, std::span<const int64_t> weights, std::span<const Rank> sinks,
               Direction direction)
    : network_(network),
      weights_(weights),
      sinks_(sinks),
      direction_(direction),
      rank_at_(at(network.nodes), -1),
      marked_(at(network.nodes)) {
  for (const Edge& edge : network.edges) divisor_ = std::gcd(divisor_, edge.capacity);
  for (const Edge& edge : network.edges) capacities_.push_back(edge.capacity / divisor_);
  for (int64_t capacity : capacities_) total_capacity_ += capacity;
  for (int64_t weight : weights) total_weight_ += weight;
  for (Rank rank = 0; rank < network.ranks(); ++rank) rank_at_[at(network.rank_nodes[at(rank)])] = rank;
}

/// Begins with what a sink alone can take in.
Result<Cut> Search::run() {
  std::vector<Int128> entering(at(network_.nodes));
  for (size_t edge = 0; edge < capacities_.size(); ++edge) {
    entering[at(head(network_.edges[edge]))] += capacities_[edge];
  }
  for (Rank sink : sinks_) {
    const int32_t node = network_.rank_nodes[at(sink)];
    const Int128 outside = total_weight_ - weights_[at(sink)];
    if (outside == 0) continue;
    const Ratio ratio(entering[at(node)], outside);
    if (cut_.inside.empty() || ratio < cut_.ratio) cut_ = {ratio, {node}};
  }
  if (cut_.inside.empty()) {
    return Status(Code::invalid_argument, "a bound on what nobody has to send: expected at least two ranks");
  }
  if (fits<int64_t>()) look<int64_t>();
  if (next_ < sinks_.size()) look<Int128>();
  if (cut_.ratio.numerator == 0) return complaint();
  cut_.ratio = Ratio(cut_.ratio.numerator * divisor_, cut_.ratio.denominator);
  std::sort(cut_.inside.begin(), cut_.inside.end());
  return std::move(cut_);
}

template <typename Amount>
bool Search::fits() const {
  if constexpr (sizeof(Amount) == sizeof(Int128)) return true;
  constexpr Int128 kMost = std::numeric_limits<int64_t>::max() / 4;
  // Two steps, so that nothing overflows on the way.
  return total_capacity_ < kMost && cut_.ratio.denominator < kMost / std::max<Int128>(1, total_capacity_) &&
         total_weight_ < kMost / std::max<Int128>(1, cut_.ratio.numerator);
}

/// All sinks from the next one on, or until the numbers become too large for Amount. Capacities are taken
/// times the denominator of the ratio, so that what weights send at it is whole.
template <typename Amount>
void Search::look() {
  MaxFlow<Amount> flows(network_.nodes, network_.edges, direction_);
  std::vector<char> passed(weights_.size());
  for (size_t i = 0; i < next_; ++i) passed[at(sinks_[i])] = 1;
  const auto assume_ratio = [&] {
    flows.set_capacities(capacities_, static_cast<Amount>(cut_.ratio.denominator));
    for (size_t rank = 0; rank < weights_.size(); ++rank) {
      flows.set_supply(network_.rank_nodes[rank],
                       passed[rank] != 0 ? MaxFlow<Amount>::kUnlimited
                                         : static_cast<Amount>(cut_.ratio.numerator * weights_[rank]));
    }
  };
  assume_ratio();
  while (next_ < sinks_.size() && cut_.ratio.numerator > 0) {
    const Rank sink = sinks_[next_];
    const int32_t node = network_.rank_nodes[at(sink)];
    const auto wanted = static_cast<Amount>(cut_.ratio.numerator * total_weight_);
    const bool enough = flows.run(node, wanted) == wanted;
    if (!enough) {
      improve(flows.sink_side());
      if (!fits<Amount>()) return;
      assume_ratio();
      continue;
    }
    passed[at(sink)] = 1;
    ++next_;
    flows.clear();
    flows.set_supply(node, MaxFlow<Amount>::kUnlimited);
  }
}

void Search::improve(std::span<const int32_t> inside) {
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

/// Nothing enters the cut.
Status Search::complaint() const {
  std::vector<char> inside(at(network_.nodes));
  for (int32_t node : cut_.inside) inside[at(node)] = 1;
  Rank within = -1;
  Rank without = -1;
  for (Rank rank = network_.ranks() - 1; rank >= 0; --rank) {
    (inside[at(network_.rank_nodes[at(rank)])] != 0 ? within : without) = rank;
  }
  const bool along = direction_ == Direction::along;
  return Status(Code::invalid_argument,
                fmt::format("rank {} has no path to rank {}: expected a network that joins all ranks",
                            along ? without : within, along ? within : without));
}

}  // namespace

Result<Cut> narrowest_cut(const Network& network, std::span<const int64_t> weights,
                          std::span<const Rank> sinks, Direction direction) {
  return Search(network, weights, sinks, direction).run();
}

}  // namespace weir::algorithms
