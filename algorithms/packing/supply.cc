// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/supply.h"

#include <numeric>

namespace weir::algorithms {

Supply::Supply(const LogicalGraph& graph, const std::vector<int64_t>& shares)
    : nodes_(graph.nodes()),
      rank_nodes_(graph.network().rank_nodes),
      shares_(shares),
      total_(std::accumulate(shares.begin(), shares.end(), int64_t{0})) {
  for (int from = 0; from < nodes_; ++from) {
    for (int to : graph.targets(from)) change(from, to, graph.capacity(from, to));
  }
}

void Supply::change(int from, int to, int64_t amount) {
  if (from == to) return;
  const auto [place, fresh] = numbers_.try_emplace({from, to}, edges_.size());
  if (fresh) {
    edges_.push_back({from, to, 0});
    flow_.reset();
  }
  Edge& edge = edges_[place->second];
  edge.capacity += amount;
  if (flow_) flow_->set_capacity(place->second, edge.capacity);
}

void Supply::build() {
  flow_.emplace(nodes_, edges_);
  for (size_t r = 0; r < shares_.size(); ++r) flow_->set_supply(rank_nodes_[r], shares_[r]);
}

int64_t Supply::shortfall() {
  if (!flow_) build();
  int64_t worst = 0;
  for (int32_t sink : rank_nodes_) {
    const int64_t wanted = total_ - worst;  // only worse results are of interest
    const int64_t served = flow_->run(sink, wanted);
    if (served < wanted) {
      worst = total_ - served;
      cut_.assign(static_cast<size_t>(nodes_), 0);
      for (int32_t node : flow_->sink_side()) cut_[static_cast<size_t>(node)] = 1;
    }
    flow_->clear();
    // Every cut with this rank on the far side is known to be no worse.
    flow_->set_supply(sink, MaxFlow<int64_t>::kUnlimited);
  }
  for (size_t r = 0; r < shares_.size(); ++r) flow_->set_supply(rank_nodes_[r], shares_[r]);
  return worst;
}

}  // namespace weir::algorithms
