// SPDX-License-Identifier: Apache-2.0

#include "algorithms/proof/exchange_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "algorithms/proof/way_loads.h"
#include "algorithms/proof/wrong.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

constexpr Int128 kMostUnits = Int128{1} << 60;  // of a block

/// Parts that leave or enter at the switches of a plane; key: switch.
using AtSwitch = std::map<int32_t, Int128>;

class ExchangeJudge {
 public:
  ExchangeJudge(const Network& network, const ExchangePlan& plan, int relays)
      : network_(network), plan_(plan), members_(network.ranks() - relays) {}

  Result<ExchangeLoads> judge() {
    WEIR_TRY(check(network_));
    if (members_ < 1 || members_ > network_.ranks())
      return wrong("{} of {} ranks take part: expected at least one", members_, network_.ranks());
    WEIR_TRY(choose_unit());
    loads_.units.resize(network_.edges.size());
    rank_at_.assign(at(network_.nodes), -1);
    for (Rank rank = 0; rank < network_.ranks(); ++rank) rank_at_[at(network_.rank_nodes[at(rank)])] = rank;
    WEIR_TRY(count_entries());
    leaving_.resize(at(plan_.planes));
    entering_.resize(at(plan_.planes));
    inside_.resize(at(plan_.planes));
    for (size_t h = 0; h < plan_.hosts.size(); ++h) {
      const Status status = judge_host(plan_.hosts[h], plan_.shapes[at(plan_.hosts[h].shape)]);
      if (!status.ok()) return wrong("host {}: {}", h, status.message());
    }
    if (ranks_ != network_.ranks())
      return wrong("{} of {} ranks are in hosts: expected all", ranks_, network_.ranks());
    WEIR_TRY(load_ways());
    weigh();
    return std::move(loads_);
  }

 private:
  /// A block has so many units that each path takes whole ones.
  Status choose_unit() {
    if (plan_.entry_parts < 1 || plan_.exit_parts < 1 || plan_.planes < 0)
      return wrong("{} and {} parts of a block on {} planes: expected at least one", plan_.entry_parts,
                   plan_.exit_parts, plan_.planes);
    Int128 shared = 1;
    const auto extend = [&](Int128 divisor) {
      Int128 a = shared, b = divisor;
      while (b != 0) a = std::exchange(b, a % b);
      shared *= divisor / a;
      return shared < kMostUnits / plan_.entry_parts / plan_.exit_parts;
    };
    for (const ExchangeShape& shape : plan_.shapes) {
      for (const auto& row : shape.inner) {
        for (const InnerPaths& paths : row) {
          if (!paths.empty() && !extend(std::ssize(paths))) return wrong("too many paths share a block");
        }
      }
    }
    for (const Way& way : plan_.ways) {
      Int128 weights = 0;
      for (const Way::Path& path : way.paths) {
        if (path.weight <= 0) return wrong("a path between switches has weight {}", path.weight);
        weights += path.weight;
      }
      if (weights == 0 || !extend(weights)) return wrong("too many paths between switches share a block");
    }
    shared_ = shared;
    block_ = shared * plan_.entry_parts * plan_.exit_parts;
    return {};
  }

  /// The parts of one block for each rank that enter on each plane.
  Status count_entries() {
    all_.assign(at(plan_.planes), 0);
    for (const Host& host : plan_.hosts) {
      if (host.shape < 0 || at(host.shape) >= plan_.shapes.size()) return wrong("a host has no shape");
      const ExchangeShape& shape = plan_.shapes[at(host.shape)];
      const auto ranks = shape.host.network.rank_nodes.size();
      if (shape.entries.size() != ranks || shape.exits.size() != ranks || shape.inner.size() != ranks ||
          shape.host.blocks.size() != ranks)
        return wrong("a shape has paths for other ranks than it has");
      for (size_t rank = 0; rank < ranks; ++rank) {
        if (shape.entries[rank].size() != all_.size() || shape.exits[rank].size() != all_.size() ||
            shape.inner[rank].size() != ranks)
          return wrong("rank {} of a shape has paths for other planes or ranks", rank);
        const std::vector<Int128> own = parts_of(shape.entries[rank]);
        for (size_t plane = 0; plane < own.size(); ++plane) all_[plane] += own[plane];
        const Int128 sum = std::accumulate(own.begin(), own.end(), Int128{0});
        const bool receives = plan_.hosts.size() > 1 && shape.host.blocks[rank] != 0;
        if (sum != (receives ? plan_.entry_parts : 0))
          return wrong("rank {} of a shape receives {} of {} parts", rank, sum,
                       receives ? plan_.entry_parts : 0);
      }
    }
    return {};
  }

  static std::vector<Int128> parts_of(const std::vector<std::vector<Passage>>& planes) {
    std::vector<Int128> parts;
    for (const auto& row : planes) {
      parts.push_back(0);
      for (const Passage& passage : row) parts.back() += passage.parts;
    }
    return parts;
  }

  Status judge_host(const Host& host, const ExchangeShape& shape) {
    const auto& rank_nodes = shape.host.network.rank_nodes;
    if (host.nodes.size() != at(shape.host.network.nodes) ||
        host.edges.size() != shape.host.network.edges.size() ||
        host.uplinks.size() != shape.host.uplinks.size())
      return wrong("it and its shape differ in size");
    for (const int32_t edge : host.edges) {
      if (edge < 0 || at(edge) >= network_.edges.size()) return wrong("edge {} does not exist", edge);
    }
    for (const Uplink& uplink : host.uplinks) {
      for (const int32_t edge : {uplink.in, uplink.out}) {
        if (edge < 0 || at(edge) >= network_.edges.size()) return wrong("edge {} does not exist", edge);
      }
    }
    std::vector<int32_t> nodes;
    std::vector<size_t> members;
    std::vector<Int128> own(all_.size());
    for (size_t rank = 0; rank < rank_nodes.size(); ++rank) {
      const int32_t local = rank_nodes[rank];
      const int32_t node = local < 0 || at(local) >= host.nodes.size() ? -1 : host.nodes[at(local)];
      const Rank global = node < 0 || node >= network_.nodes ? -1 : std::exchange(rank_at_[at(node)], -1);
      if (global < 0) return wrong("its rank {} is not a rank, or is in another host", rank);
      if ((global < members_) != (shape.host.blocks[rank] == 1))
        return wrong("its rank {} is rank {}, which {}", rank, global,
                     global < members_ ? "takes part: expected a block" : "only forwards: expected no block");
      if (global < members_) members.push_back(rank);
      nodes.push_back(node);
      ++ranks_;
      const std::vector<Int128> parts = parts_of(shape.entries[rank]);
      for (size_t plane = 0; plane < own.size(); ++plane) own[plane] += parts[plane];
    }
    std::vector<AtSwitch> out(all_.size()), in(all_.size());
    for (const size_t rank : members) {
      WEIR_TRY(judge_exits(host, shape, rank, nodes[rank], own, out));
      WEIR_TRY(judge_entries(host, shape, rank, nodes[rank], std::ssize(members), in));
      for (const size_t other : members) {
        if (other != rank) WEIR_TRY(judge_inner(host, shape.inner[rank][other], nodes[rank], nodes[other]));
      }
    }
    note_switches(out, in);
    return {};
  }

  Status judge_inner(const Host& host, const InnerPaths& paths, int32_t from, int32_t to) {
    if (paths.empty()) return wrong("ranks at nodes {} and {} have no path", from, to);
    for (const auto& path : paths) {
      int32_t node = from;
      WEIR_TRY(follow(host, path, block_ / std::ssize(paths), node));
      if (node != to) return wrong("a path from node {} ends at node {}, not at node {}", from, node, to);
    }
    return {};
  }

  /// What a rank sends to other hosts on each plane: what they receive there.
  Status judge_exits(const Host& host, const ExchangeShape& shape, size_t rank, int32_t node,
                     const std::vector<Int128>& own, std::vector<AtSwitch>& out) {
    for (size_t plane = 0; plane < all_.size(); ++plane) {
      const Int128 wanted = all_[plane] - own[plane];
      if (wanted == 0) continue;
      Int128 parts = 0;
      for (const Passage& passage : shape.exits[rank][plane]) {
        if (passage.parts <= 0) return wrong("rank {} has an exit of {} parts", rank, passage.parts);
        const Int128 units = wanted * passage.parts * shared_;
        const auto gate = gate_of(shape, passage);
        WEIR_TRY(gate.status());
        int32_t there = node;
        WEIR_TRY(follow(host, passage.edges, units, there));
        WEIR_TRY(follow(host, (*gate)->out, units, there));
        const int32_t edge = host.uplinks[at((*gate)->uplink)].out;
        if (network_.edges[at(edge)].from != there)
          return wrong("an exit of rank {} misses its uplink", rank);
        loads_.units[at(edge)] += units;
        out[plane][network_.edges[at(edge)].to] += passage.parts;
        parts += passage.parts;
      }
      if (parts != plan_.exit_parts)
        return wrong("rank {} sends {} of {} parts on plane {}", rank, parts, plan_.exit_parts, plane);
    }
    return {};
  }

  Status judge_entries(const Host& host, const ExchangeShape& shape, size_t rank, int32_t node, int64_t ranks,
                       std::vector<AtSwitch>& in) {
    const Int128 senders = members_ - ranks;
    if (senders == 0) return {};
    for (size_t plane = 0; plane < all_.size(); ++plane) {
      for (const Passage& passage : shape.entries[rank][plane]) {
        if (passage.parts <= 0) return wrong("rank {} has an entry of {} parts", rank, passage.parts);
        const Int128 units = senders * passage.parts * plan_.exit_parts * shared_;
        const auto gate = gate_of(shape, passage);
        WEIR_TRY(gate.status());
        const int32_t edge = host.uplinks[at((*gate)->uplink)].in;
        int32_t there = network_.edges[at(edge)].to;
        WEIR_TRY(follow(host, (*gate)->in, units, there));
        WEIR_TRY(follow(host, passage.edges, units, there));
        if (there != node) return wrong("an entry of rank {} ends at node {}", rank, there);
        loads_.units[at(edge)] += units;
        in[plane][network_.edges[at(edge)].from] += passage.parts;
      }
    }
    return {};
  }

  Result<const Gate*> gate_of(const ExchangeShape& shape, const Passage& passage) const {
    if (passage.gate < 0 || at(passage.gate) >= shape.host.gates.size())
      return wrong("gate {} does not exist", passage.gate);
    const Gate& gate = shape.host.gates[at(passage.gate)];
    if (gate.uplink < 0 || at(gate.uplink) >= shape.host.uplinks.size())
      return wrong("gate {} has no uplink", passage.gate);
    return &gate;
  }

  /// Loads edges of a host from `node` on, which becomes the end.
  Status follow(const Host& host, const std::vector<int32_t>& path, Int128 units, int32_t& node) {
    for (const int32_t number : path) {
      if (number < 0 || at(number) >= host.edges.size()) return wrong("edge {} does not exist", number);
      const Edge& edge = network_.edges[at(host.edges[at(number)])];
      if (edge.from != node) return wrong("edge {} does not start at node {}", number, node);
      loads_.units[at(host.edges[at(number)])] += units;
      node = edge.to;
    }
    return {};
  }

  /// Adds a host's parts per switch; what it would send to itself is remembered.
  void note_switches(const std::vector<AtSwitch>& out, const std::vector<AtSwitch>& in) {
    for (size_t plane = 0; plane < out.size(); ++plane) {
      for (const auto& [from, leaving] : out[plane]) {
        leaving_[plane][from] += leaving;
        for (const auto& [to, entering] : in[plane]) inside_[plane][{from, to}] += leaving * entering;
      }
      for (const auto& [to, entering] : in[plane]) entering_[plane][to] += entering;
    }
  }

  /// All pairs of switches of a plane: everybody sends to everybody, except inside hosts.
  Status load_ways() {
    for (size_t plane = 0; plane < leaving_.size(); ++plane) {
      for (const auto& [from, leaving] : leaving_[plane]) {
        for (const auto& [to, entering] : entering_[plane]) {
          if (from == to) continue;
          const auto own = inside_[plane].find({from, to});
          const Int128 parts = leaving * entering - (own == inside_[plane].end() ? 0 : own->second);
          if (parts > 0) WEIR_TRY(load_way(network_, plan_.ways, from, to, parts * shared_, 1, loads_.units));
        }
      }
    }
    return {};
  }

  void weigh() {
    loads_.whole = block_ * members_;
    for (size_t e = 0; e < loads_.units.size(); ++e) {
      if (loads_.units[e] == 0) continue;
      const Ratio share(loads_.units[e], loads_.whole);
      const Ratio time(share.numerator, share.denominator * network_.edges[e].capacity);
      if (time <= loads_.time) continue;
      loads_.time = time;
      loads_.tightest = static_cast<int32_t>(e);
    }
  }

  const Network& network_;
  const ExchangePlan& plan_;
  const int members_;
  ExchangeLoads loads_;
  Int128 shared_ = 1;  // units of one part of an entry and an exit
  Int128 block_ = 1;   // units of a block
  std::vector<Rank> rank_at_;
  int ranks_ = 0;
  std::vector<Int128> all_;  // index: plane; parts of one block for each rank that enter there
  std::vector<AtSwitch> leaving_, entering_;
  std::vector<std::map<std::pair<int32_t, int32_t>, Int128>> inside_;
};

}  // namespace

Result<ExchangeLoads> check_exchange(const Network& network, const ExchangePlan& plan, int relays) {
  return ExchangeJudge(network, plan, relays).judge();
}

}  // namespace weir::algorithms
