// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "algorithms/cluster/edges_at.h"
#include "src/base/index.h"
#include "topology/model/unions.h"

namespace weir::algorithms {
namespace {

using topology::Unions;

/// An uplink before it is assigned to a host.
struct Found {
  int32_t node = 0;
  Uplink edges;
  Attachment attached;
};

class Finder {
 public:
  Finder(const Network& network, std::span<const char> between, std::span<const int32_t> blocks)
      : network_(network),
        between_(between),
        blocks_(blocks),
        leaving_(network, &Edge::from, [](const Edge&) { return true; }),
        entering_(network, &Edge::to, [](const Edge&) { return true; }),
        rank_at_(at(network.nodes), -1),
        host_at_(at(network.nodes), -1),
        distance_(at(network.nodes), -1),
        unions_(network.nodes) {
    for (Rank rank = 0; rank < network.ranks(); ++rank) rank_at_[at(network.rank_nodes[at(rank)])] = rank;
  }

  Result<Cluster> find() {
    number_hosts();
    if (members_.size() < 2) {
      return Status(Code::invalid_argument,
                    fmt::format("{} with ranks: expected at least two, connected by switches between hosts",
                                members_.size() == 1 ? "one host" : "no host"));
    }
    find_uplinks();
    for (size_t host = 0; host < uplinks_.size(); ++host) {
      if (!uplinks_[host].empty()) continue;
      return Status(
          Code::invalid_argument,
          fmt::format("the host of rank {} has no link to and from a switch between hosts: expected "
                      "one",
                      lowest_[host]));
    }
    measure_distances();
    group();
    name_lanes();
    for (const int32_t host : order_) describe(at(host));
    return std::move(cluster_);
  }

 private:
  bool inside(const Edge& edge) const { return !between_[at(edge.from)] && !between_[at(edge.to)]; }

  /// Finds hosts in the order of their lowest ranks, with their nodes.
  void number_hosts() {
    for (const Edge& edge : network_.edges) {
      if (inside(edge)) unions_.join(edge.from, edge.to);
    }
    for (Rank rank = 0; rank < network_.ranks(); ++rank) {
      int32_t& host = host_at_[at(unions_.find(network_.rank_nodes[at(rank)]))];
      if (host >= 0) continue;
      host = static_cast<int32_t>(members_.size());
      members_.emplace_back();
      lowest_.push_back(rank);
    }
    for (int32_t node = 0; node < network_.nodes; ++node) {
      host_at_[at(node)] = host_at_[at(unions_.find(node))];
      if (host_at_[at(node)] >= 0) members_[at(host_at_[at(node)])].push_back(node);
    }
  }

  void find_uplinks() {
    uplinks_.resize(members_.size());
    for (size_t host = 0; host < members_.size(); ++host) {
      for (const int32_t node : members_[host]) {
        for (const int32_t out : leaving_.of(node)) {
          const int32_t above = network_.edges[at(out)].to;
          if (!between_[at(above)]) continue;
          for (const int32_t in : entering_.of(node)) {
            if (network_.edges[at(in)].from != above) continue;
            const int64_t width = std::min(network_.edges[at(in)].capacity, network_.edges[at(out)].capacity);
            uplinks_[host].push_back({node, {in, out}, {0, 0, width}});
            break;
          }
        }
      }
    }
  }

  /// Distance from the nearest host, in hops between switches.
  void measure_distances() {
    std::vector<int32_t> reached;
    for (int32_t node = 0; node < network_.nodes; ++node) {
      if (host_at_[at(node)] >= 0) distance_[at(node)] = 0, reached.push_back(node);
    }
    for (size_t i = 0; i < reached.size(); ++i) {
      for (const int32_t edge : leaving_.of(reached[i])) {
        const int32_t to = network_.edges[at(edge)].to;
        if (distance_[at(to)] >= 0 || !between_[at(to)]) continue;
        distance_[at(to)] = distance_[at(reached[i])] + 1;
        deepest_ = std::max(deepest_, distance_[at(to)]);
        reached.push_back(to);
      }
    }
  }

  /// For each host the lowest host of its current group.
  std::vector<int32_t> groups_now() {
    std::vector<int32_t> first(at(network_.nodes), -1), groups(members_.size());
    for (size_t host = 0; host < members_.size(); ++host) {
      int32_t& leader = first[at(unions_.find(members_[host][0]))];
      if (leader < 0) leader = static_cast<int32_t>(host);
      groups[host] = leader;
    }
    return groups;
  }

  /// For each host the capacity into and out of its current group, the lesser of both.
  std::vector<int64_t> borders_now() {
    std::vector<int64_t> out(at(network_.nodes)), in(at(network_.nodes)), borders(members_.size());
    for (const Edge& edge : network_.edges) {
      const int32_t from = unions_.find(edge.from);
      const int32_t to = unions_.find(edge.to);
      if (from == to) continue;
      out[at(from)] += edge.capacity;
      in[at(to)] += edge.capacity;
    }
    for (size_t host = 0; host < members_.size(); ++host) {
      const size_t group = at(unions_.find(members_[host][0]));
      borders[host] = std::min(out[group], in[group]);
    }
    return borders;
  }

  /// Merges hosts into groups, level by level: first over the switches above, then over links among these.
  void group() {
    std::vector<std::vector<int32_t>> groups;
    std::vector<std::vector<int64_t>> borders;
    for (int32_t depth = 1; depth <= deepest_; ++depth) {
      for (const int32_t below : {depth - 1, depth}) {
        for (const Edge& edge : network_.edges) {
          const int32_t from = distance_[at(edge.from)];
          const int32_t to = distance_[at(edge.to)];
          if (std::max(from, to) == depth && std::min(from, to) == below) unions_.join(edge.from, edge.to);
        }
        groups.push_back(groups_now());
        borders.push_back(borders_now());
      }
    }
    leaf_group_ = groups.empty() ? groups_now() : groups[0];
    order_.resize(members_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
      for (size_t level = groups.size(); level-- > 0;) {
        if (groups[level][at(a)] != groups[level][at(b)]) return groups[level][at(a)] < groups[level][at(b)];
      }
      return a < b;
    });
    for (size_t level = groups.size(); level-- > 0;) {
      std::vector<int32_t> firsts;
      std::vector<int64_t> widths;
      for (size_t place = 0; place < order_.size(); ++place) {
        const auto group_at = [&](size_t p) { return groups[level][at(order_[p])]; };
        if (place > 0 && group_at(place) == group_at(place - 1)) continue;
        firsts.push_back(static_cast<int32_t>(place));
        widths.push_back(borders[level][at(order_[place])]);
      }
      if (firsts.size() == 1 || firsts.size() == order_.size()) continue;
      if (cluster_.levels.empty() || cluster_.levels.back() != firsts) {
        cluster_.levels.push_back(std::move(firsts));
        cluster_.borders.push_back(std::move(widths));
      } else {
        std::transform(widths.begin(), widths.end(), cluster_.borders.back().begin(),
                       cluster_.borders.back().begin(),
                       [](int64_t one, int64_t other) { return std::min(one, other); });
      }
    }
  }

  /// A lane is a plane plus a position among the switches of that plane to which the hosts of a group are
  /// attached.
  void name_lanes() {
    Unions planes(network_.nodes);
    for (const Edge& edge : network_.edges) {
      if (between_[at(edge.from)] && between_[at(edge.to)]) planes.join(edge.from, edge.to);
    }
    std::map<int32_t, int32_t> plane_numbers;
    std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> attached;  // key: group and plane
    const auto above = [&](const Found& uplink) { return network_.edges[at(uplink.edges.out)].to; };
    for (size_t host = 0; host < uplinks_.size(); ++host) {
      for (Found& uplink : uplinks_[host]) {
        const auto next = static_cast<int32_t>(plane_numbers.size());
        uplink.attached.plane = plane_numbers.try_emplace(planes.find(above(uplink)), next).first->second;
        attached[{leaf_group_[host], uplink.attached.plane}].push_back(above(uplink));
      }
    }
    for (auto& [key, switches] : attached) {
      std::sort(switches.begin(), switches.end());
      switches.erase(std::unique(switches.begin(), switches.end()), switches.end());
    }
    cluster_.planes = static_cast<int32_t>(plane_numbers.size());
    for (size_t host = 0; host < uplinks_.size(); ++host) {
      for (Found& uplink : uplinks_[host]) {
        const auto& switches = attached[{leaf_group_[host], uplink.attached.plane}];
        uplink.attached.lane = static_cast<int32_t>(
            std::lower_bound(switches.begin(), switches.end(), above(uplink)) - switches.begin());
      }
    }
  }

  /// Adds a host to the cluster, and its shape if no other host has it.
  void describe(size_t number) {
    Host host;
    HostShape shape;
    std::vector<Attachment> attached;
    host.nodes = members_[number];
    const auto local = [&](int32_t node) {
      return static_cast<int32_t>(std::lower_bound(host.nodes.begin(), host.nodes.end(), node) -
                                  host.nodes.begin());
    };
    shape.network.nodes = static_cast<int32_t>(host.nodes.size());
    int64_t blocks = 0;
    for (const int32_t node : host.nodes) {
      if (const Rank rank = rank_at_[at(node)]; rank >= 0) {
        shape.network.rank_nodes.push_back(local(node));
        shape.blocks.push_back(blocks_[at(rank)]);
        blocks += blocks_[at(rank)];
      }
      for (const int32_t number_of_edge : leaving_.of(node)) {
        const Edge& edge = network_.edges[at(number_of_edge)];
        if (!inside(edge)) continue;
        shape.network.edges.push_back({local(edge.from), local(edge.to), edge.capacity, -1});
        host.edges.push_back(number_of_edge);
      }
    }
    for (const Found& uplink : uplinks_[number]) {
      shape.uplinks.push_back(local(uplink.node));
      host.uplinks.push_back(uplink.edges);
      attached.push_back(uplink.attached);
    }
    host.shape = shape_number(std::move(shape), std::move(attached));
    cluster_.first_block.push_back(next_block_);
    next_block_ += blocks;
    cluster_.hosts.push_back(std::move(host));
    if (cluster_.hosts.size() == members_.size()) cluster_.first_block.push_back(next_block_);
  }

  int32_t shape_number(HostShape shape, std::vector<Attachment> attached) {
    std::vector<int64_t> key = {shape.network.nodes};
    for (const Edge& edge : shape.network.edges) key.insert(key.end(), {edge.from, edge.to, edge.capacity});
    key.push_back(-1);
    for (size_t r = 0; r < shape.blocks.size(); ++r)
      key.insert(key.end(), {shape.network.rank_nodes[r], shape.blocks[r]});
    key.push_back(-1);
    for (size_t u = 0; u < attached.size(); ++u)
      key.insert(key.end(), {shape.uplinks[u], attached[u].plane, attached[u].lane, attached[u].capacity});
    const auto next = static_cast<int32_t>(cluster_.shapes.size());
    const auto [known, added] = shapes_.try_emplace(std::move(key), next);
    if (added) {
      cluster_.shapes.push_back(std::move(shape));
      cluster_.attached.push_back(std::move(attached));
    }
    return known->second;
  }

  const Network& network_;
  std::span<const char> between_;
  std::span<const int32_t> blocks_;
  const EdgesAt leaving_;
  const EdgesAt entering_;
  std::vector<Rank> rank_at_;      // index: node; its rank, or -1
  std::vector<int32_t> host_at_;   // index: node; its host, or -1
  std::vector<int32_t> distance_;  // index: node; -1: not reached
  int32_t deepest_ = 0;
  Unions unions_;
  std::vector<std::vector<int32_t>> members_;  // index: host, in the order of lowest ranks; nodes, ascending
  std::vector<Rank> lowest_;                   // index: host
  std::vector<std::vector<Found>> uplinks_;    // index: host
  std::vector<int32_t> leaf_group_;            // index: host
  std::vector<int32_t> order_;                 // host at each position
  std::map<std::vector<int64_t>, int32_t> shapes_;
  int64_t next_block_ = 0;
  Cluster cluster_;
};

}  // namespace

std::vector<char> switches_between_hosts(const Network& network, const topology::Graph& graph) {
  std::vector<char> between(at(network.nodes));
  for (int32_t node = 0; node < network.nodes; ++node)
    between[at(node)] = graph[network.origin[at(node)]].kind() == topology::NodeKind::fabric_switch;
  return between;
}

Result<Cluster> cluster_of(const Network& network, std::span<const char> between_hosts,
                           std::span<const int32_t> blocks) {
  return Finder(network, between_hosts, blocks).find();
}

}  // namespace weir::algorithms
