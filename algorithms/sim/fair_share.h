// SPDX-License-Identifier: Apache-2.0
/// Max-min fair rates of flows that share the edges of a network.
///
/// No rate can grow without reducing a rate that is not higher: all rates rise together; a full edge freezes
/// its flows at its share, a flow at its own ceiling freezes alone, the others continue (progressive filling:
/// D. Bertsekas, R. Gallager, Data Networks, 6.5.2). Flows with the same path and ceiling have the same rate
/// and form one group here.
///
/// A change is local. An edge that could carry the ceilings of all its flows at once limits none of them, so
/// only groups that are connected by *contested* edges are filled again; the others keep their rates.
///
/// One thread at a time. No call fails. The same calls give the same bits.
/// Tests: tests/algorithms/sim_fair_share_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/network.h"
#include "src/base/index.h"

namespace weir::sim {

using algorithms::Network;
using GroupId = int32_t;

/// Equivalent flows.
struct FlowGroup {
  std::span<const int32_t> path;  ///< edges of the network, at least one, none twice; not copied
  double ceiling = 0;  ///< maximum rate of one flow, in units of capacity: above 0, at most that of any edge
};

class FairShares {
 public:
  /// Initially no group has flows. Keeps a reference to the network and to the groups' paths.
  FairShares(const Network& network, std::vector<FlowGroup> groups);

  /// Adds `flows` to the group, or removes them. Rates are valid again after settle().
  void change(GroupId group, int32_t flows);
  /// Recomputes the rates after changes. Returns the groups whose rate has changed: valid until the next
  /// call.
  std::span<const GroupId> settle();

  /// Rate of each flow of the group, in units of capacity; 0 if it has no flows.
  double rate(GroupId group) const { return rates_[at(group)]; }
  int32_t flows(GroupId group) const { return flows_[at(group)]; }
  std::span<const int32_t> path(GroupId group) const { return groups_[at(group)].path; }

 private:
  struct Member {
    GroupId group;
    int32_t hop;  // position of the edge in the group's path
  };
  struct Level {
    double share;
    int32_t edge;
    bool operator<(const Level& other) const {  // std heaps keep the largest in front
      return share != other.share ? share > other.share : edge > other.edge;
    }
  };
  static constexpr double kRising = -1;  // marks a new rate that is not frozen yet

  bool contested(int32_t edge) const { return demand_[at(edge)] > network_.edges[at(edge)].capacity; }
  std::span<const Member> members(int32_t edge) const {
    return {members_.data() + first_member_[at(edge)], at(member_count_[at(edge)])};
  }
  void join(GroupId group);
  void leave(GroupId group);
  void collect();
  void include(GroupId group);
  void fill();
  void freeze(GroupId group, double rate);
  void conclude();

  const Network& network_;
  std::vector<FlowGroup> groups_;
  std::vector<int64_t> bounds_;  // index: group; its ceiling, rounded up
  std::vector<int32_t> flows_;
  std::vector<int32_t> settled_flows_;  // at the last settle()
  std::vector<double> rates_;

  std::vector<size_t> first_member_;   // index: edge; first group with flows on it, in members_
  std::vector<int32_t> member_count_;  // index: edge
  std::vector<Member> members_;
  std::vector<size_t> first_place_;  // index: group; first index in places_, by hop
  std::vector<size_t> places_;

  std::vector<__int128> demand_;  // index: edge; sum of the ceilings of its flows
  std::vector<int64_t> flows_of_edge_;
  std::vector<char> was_contested_;  // index: edge; at the last settle()
  std::vector<char> edge_marked_;
  std::vector<char> group_marked_;
  std::vector<int32_t> touched_edges_;
  std::vector<GroupId> touched_groups_;

  // State of the current filling.
  std::vector<GroupId> work_;      // groups to fill
  std::vector<int32_t> edges_;     // contested edges of these groups
  std::vector<double> left_;       // index: edge; capacity not yet assigned
  std::vector<int64_t> claims_;    // index: edge; number of flows not frozen
  std::vector<double> new_rates_;  // index: group
  std::vector<Level> levels_;
  std::vector<GroupId> by_ceiling_;  // groups that may reach their ceilings before an edge is full
  std::vector<GroupId> changed_;
};

}  // namespace weir::sim
