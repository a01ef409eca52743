// SPDX-License-Identifier: Apache-2.0

#include "algorithms/packing/growth_flow.h"

#include <algorithm>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

constexpr size_t kLimits = 128;
constexpr size_t kFirstPlaces = 16;

}  // namespace

GrowthFlow::GrowthFlow(std::vector<std::vector<int64_t>> room)
    : ranks_(static_cast<int>(room.size())), room_(std::move(room)), places_(kFirstPlaces) {}

void GrowthFlow::take(Rank from, Rank to, int64_t amount) {
  int64_t& left = room_[at(from)][at(to)];
  left -= amount;
  if (flow_) flow_->set_capacity(numbers_[at(from)][at(to)], left);
}

int GrowthFlow::add_trees(const std::vector<Rank>& reached, int64_t multiplicity) {
  auto free =
      std::find_if(places_.begin(), places_.end(), [](const Place& p) { return p.multiplicity == 0; });
  if (free == places_.end()) {
    const size_t taken = places_.size();
    places_.resize(2 * taken);
    flow_.reset();
    free = places_.begin() + static_cast<std::ptrdiff_t>(taken);
  }
  free->multiplicity = multiplicity;
  free->reached.assign(at(ranks_), 0);
  for (Rank rank : reached) free->reached[at(rank)] = 1;
  total_ += multiplicity;
  const int place = static_cast<int>(free - places_.begin());
  if (flow_) show(place);
  return place;
}

void GrowthFlow::reach(int place, Rank rank) {
  places_[at(place)].reached[at(rank)] = 1;
  if (flow_) show(place);
}

void GrowthFlow::shrink(int place, int64_t multiplicity) {
  total_ -= places_[at(place)].multiplicity - multiplicity;
  places_[at(place)].multiplicity = multiplicity;
  if (flow_) show(place);
}

void GrowthFlow::remove(int place) { shrink(place, 0); }

void GrowthFlow::build() {
  std::vector<Edge> edges;
  numbers_.assign(at(ranks_), std::vector<size_t>(at(ranks_)));
  for (Rank from = 0; from < ranks_; ++from) {
    for (Rank to = 0; to < ranks_; ++to) {
      if (room(from, to) == 0) continue;
      numbers_[at(from)][at(to)] = edges.size();
      edges.push_back({from, to, room(from, to)});
    }
  }
  first_ = edges.size();
  const int places = static_cast<int>(places_.size());
  for (int place = 0; place < places; ++place) {
    for (Rank rank = 0; rank < ranks_; ++rank) edges.push_back({node(place), rank, 0});
  }
  flow_.emplace(node(places), edges);
  for (int place = 0; place < places; ++place) show(place);
}

void GrowthFlow::show(int place) {
  const Place& p = places_[at(place)];
  flow_->set_supply(node(place), p.multiplicity);
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const bool supplied = p.multiplicity > 0 && p.reached[at(rank)];
    flow_->set_capacity(number(place, rank), supplied ? p.multiplicity : 0);
  }
}

int64_t GrowthFlow::fitting(int place, Rank from, Rank to, int64_t enough) {
  const Place& growing = places_[at(place)];
  const int64_t most =
      known_limit(growing, from, to, std::min(growing.multiplicity, room_[at(from)][at(to)]));
  if (most <= enough) return most;
  if (!flow_) build();
  const int64_t others = total_ - growing.multiplicity;
  flow_->set_supply(node(place), 0);
  flow_->set_supply(from, MaxFlow<int64_t>::kUnlimited);
  const int64_t flow = flow_->run(to, others + most);
  if (flow < others + most) remember(flow - others);
  flow_->clear();
  flow_->set_supply(from, 0);
  flow_->set_supply(node(place), growing.multiplicity);
  return std::max<int64_t>(0, flow - others);
}

int64_t GrowthFlow::known_limit(const Place& place, Rank from, Rank to, int64_t most) const {
  for (const Limit& limit : limits_) {
    if (limit.slack >= most || !limit.inside[at(to)] || limit.inside[at(from)]) continue;
    // The set must not be one that the trees themselves must still reach: those need the edge.
    for (size_t rank = 0; rank < at(ranks_); ++rank) {
      if (!(limit.inside[rank] & place.reached[rank])) continue;
      most = limit.slack;
      break;
    }
  }
  return most;
}

void GrowthFlow::remember(int64_t slack) {
  Limit limit{std::vector<char>(at(ranks_)), slack};
  for (int32_t node : flow_->sink_side()) {
    if (node < ranks_) limit.inside[at(node)] = 1;
  }
  if (limits_.size() < kLimits) {
    limits_.push_back(std::move(limit));
  } else {
    limits_[oldest_++ % kLimits] = std::move(limit);
  }
}

}  // namespace weir::algorithms
