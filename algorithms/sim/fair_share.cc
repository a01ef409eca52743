// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/fair_share.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/index.h"

namespace weir::sim {

FairShares::FairShares(const Network& network, std::vector<FlowGroup> groups)
    : network_(network),
      groups_(std::move(groups)),
      flows_(groups_.size()),
      settled_flows_(groups_.size()),
      rates_(groups_.size()),
      first_member_(network.edges.size() + 1),
      member_count_(network.edges.size()),
      demand_(network.edges.size()),
      flows_of_edge_(network.edges.size()),
      was_contested_(network.edges.size()),
      edge_marked_(network.edges.size()),
      group_marked_(groups_.size()),
      left_(network.edges.size()),
      claims_(network.edges.size()),
      new_rates_(groups_.size()) {
  size_t hops = 0;
  for (const FlowGroup& group : groups_) {
    bounds_.push_back(static_cast<int64_t>(std::ceil(group.ceiling)));
    first_place_.push_back(hops);
    hops += group.path.size();
    for (const int32_t edge : group.path) ++first_member_[at(edge) + 1];
  }
  for (size_t e = 0; e < network.edges.size(); ++e) first_member_[e + 1] += first_member_[e];
  members_.resize(hops);
  places_.resize(hops);
}

void FairShares::change(GroupId group, int32_t flows) {
  const int32_t before = flows_[at(group)];
  flows_[at(group)] = before + flows;
  if (before == 0 && flows > 0) join(group);
  if (before > 0 && before + flows == 0) leave(group);
  for (const int32_t edge : groups_[at(group)].path) {
    demand_[at(edge)] += static_cast<__int128>(bounds_[at(group)]) * flows;
    flows_of_edge_[at(edge)] += flows;
  }
  touched_groups_.push_back(group);
}

void FairShares::join(GroupId group) {
  const auto& path = groups_[at(group)].path;
  for (size_t hop = 0; hop < path.size(); ++hop) {
    const size_t edge = at(path[hop]);
    const size_t place = first_member_[edge] + at(member_count_[edge]++);
    members_[place] = {group, static_cast<int32_t>(hop)};
    places_[first_place_[at(group)] + hop] = place;
  }
}

void FairShares::leave(GroupId group) {
  const auto& path = groups_[at(group)].path;
  for (size_t hop = 0; hop < path.size(); ++hop) {
    const size_t edge = at(path[hop]);
    const size_t place = places_[first_place_[at(group)] + hop];
    const Member last = members_[first_member_[edge] + at(--member_count_[edge])];
    members_[place] = last;
    places_[first_place_[at(last.group)] + at(last.hop)] = place;
  }
}

std::span<const GroupId> FairShares::settle() {
  changed_.clear();
  if (touched_groups_.empty()) return changed_;
  collect();
  fill();
  conclude();
  return changed_;
}

void FairShares::include(GroupId group) {
  if (!std::exchange(group_marked_[at(group)], 1)) work_.push_back(group);
}

/// Everything that the changes can affect: work_, edges_ and, for the groups, those that share one.
void FairShares::collect() {
  for (const GroupId group : touched_groups_) {
    // Where one flow followed another at once, nothing has changed.
    if (std::exchange(settled_flows_[at(group)], flows_[at(group)]) == flows_[at(group)]) continue;
    include(group);
    for (const int32_t edge : groups_[at(group)].path)
      if (!std::exchange(edge_marked_[at(edge)], 1)) touched_edges_.push_back(edge);
  }
  for (const int32_t edge : touched_edges_) {
    edge_marked_[at(edge)] = 0;
    const bool now = contested(edge);
    if (!std::exchange(was_contested_[at(edge)], now) && !now) continue;
    for (const Member& member : members(edge)) include(member.group);
  }
  for (size_t next = 0; next < work_.size(); ++next) {
    const GroupId group = work_[next];
    new_rates_[at(group)] = flows_[at(group)] == 0 ? 0 : groups_[at(group)].ceiling;
    if (flows_[at(group)] == 0) continue;
    bool shares = false;
    auto narrowest = std::numeric_limits<double>::infinity();
    for (const int32_t edge : groups_[at(group)].path) {
      if (!contested(edge)) continue;
      shares = true;
      narrowest = std::min(narrowest, static_cast<double>(network_.edges[at(edge)].capacity));
      if (std::exchange(edge_marked_[at(edge)], 1)) continue;
      edges_.push_back(edge);
      for (const Member& member : members(edge)) include(member.group);
    }
    if (!shares) continue;
    new_rates_[at(group)] = kRising;
    if (groups_[at(group)].ceiling < narrowest) by_ceiling_.push_back(group);  // else an edge is full before
  }
}

void FairShares::fill() {
  for (const int32_t edge : edges_) {
    left_[at(edge)] = static_cast<double>(network_.edges[at(edge)].capacity);
    claims_[at(edge)] = flows_of_edge_[at(edge)];
    levels_.push_back({left_[at(edge)] / static_cast<double>(claims_[at(edge)]), edge});
  }
  std::make_heap(levels_.begin(), levels_.end());
  std::sort(by_ceiling_.begin(), by_ceiling_.end(), [&](GroupId a, GroupId b) {
    const double x = groups_[at(a)].ceiling, y = groups_[at(b)].ceiling;
    return x != y ? x < y : a < b;
  });

  size_t next = 0;
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end());
    const Level level = levels_.back();
    levels_.pop_back();
    if (claims_[at(level.edge)] == 0) continue;
    // Shares only grow while others are frozen, so the heap's values were lower bounds.
    const double share = left_[at(level.edge)] / static_cast<double>(claims_[at(level.edge)]);
    if (share > level.share) {
      levels_.push_back({share, level.edge});
      std::push_heap(levels_.begin(), levels_.end());
      continue;
    }
    bool waited = false;
    for (; next < by_ceiling_.size() && groups_[at(by_ceiling_[next])].ceiling <= share; ++next) {
      if (new_rates_[at(by_ceiling_[next])] != kRising) continue;
      freeze(by_ceiling_[next], groups_[at(by_ceiling_[next])].ceiling);
      waited = true;
    }
    if (waited) {
      levels_.push_back(level);
      std::push_heap(levels_.begin(), levels_.end());
      continue;
    }
    for (const Member& member : members(level.edge)) {
      if (new_rates_[at(member.group)] == kRising) freeze(member.group, share);
    }
  }
  for (; next < by_ceiling_.size(); ++next) {
    double& rate = new_rates_[at(by_ceiling_[next])];
    if (rate == kRising) rate = groups_[at(by_ceiling_[next])].ceiling;
  }
}

void FairShares::freeze(GroupId group, double rate) {
  new_rates_[at(group)] = rate;
  for (const int32_t edge : groups_[at(group)].path) {
    if (!edge_marked_[at(edge)]) continue;
    left_[at(edge)] -= rate * flows_[at(group)];
    claims_[at(edge)] -= flows_[at(group)];
  }
}

void FairShares::conclude() {
  for (const GroupId group : work_) {
    group_marked_[at(group)] = 0;
    if (std::exchange(rates_[at(group)], new_rates_[at(group)]) != new_rates_[at(group)]) {
      changed_.push_back(group);
    }
  }
  for (const int32_t edge : edges_) edge_marked_[at(edge)] = 0;
  touched_groups_.clear();
  touched_edges_.clear();
  work_.clear();
  edges_.clear();
  by_ceiling_.clear();
}

}  // namespace weir::sim
