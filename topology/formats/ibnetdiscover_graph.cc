// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "topology/formats/ibnetdiscover.h"
#include "topology/formats/levels.h"
#include "topology/formats/listing.h"

namespace weir::topology {
namespace {

double gbit_per_s(const IbPort& port) { return port.width * gbit_per_s(port.speed); }

/// "MF0;leaf4:MQM9701/U1" becomes leaf4, "MF0;core:MCS8500/L02/U1" becomes core/L02.
std::string switch_name(std::string_view description) {
  description = trim(description);
  const size_t colon = description.rfind(':');
  if (!description.starts_with("MF0;") || colon == std::string_view::npos || colon <= 4)
    return std::string(description);
  const std::string_view name = description.substr(4, colon - 4);
  const size_t slash = description.find('/', colon);
  std::string_view place = slash == std::string_view::npos ? "" : description.substr(slash);
  if (place.ends_with("/U1")) place.remove_suffix(3);
  return fmt::format("{}{}", name, place);
}

struct AdapterName {
  std::string host;
  std::string nic;  ///< empty: the description does not contain it
};

AdapterName adapter_name(std::string_view description) {
  const std::vector<std::string_view> parts = words(description);
  const bool named = parts.size() == 2 && is_letter(parts[1].front()) &&
                     std::any_of(parts[1].begin(), parts[1].end(), is_digit);
  if (named) return {std::string(parts[0]), std::string(parts[1])};
  return {std::string(trim(description)), ""};
}

class IbGraphBuilder {
 public:
  IbGraphBuilder(const IbFabric& fabric, Notes* notes)
      : fabric_(fabric), notes_(notes), at_(fabric.nodes.size(), kNone) {}

  Result<Graph> run() {
    for (size_t n = 0; n < fabric_.nodes.size(); ++n) by_guid_.emplace(fabric_.nodes[n].guid, n);
    add_switches();
    add_adapters();
    count_unlisted();
    WEIR_TRY(note_left_out());
    for (size_t n = 0; n < fabric_.nodes.size(); ++n) {
      if (at_[n] != kNone) WEIR_TRY(add_cables(n));
    }
    assign_levels(graph_);
    return std::move(graph_);
  }

 private:
  void add_switches() {
    std::unordered_map<std::string, int> uses;
    for (const IbNode& node : fabric_.nodes) {
      if (node.kind == IbKind::fabric_switch) ++uses[switch_name(node.description)];
    }
    for (size_t n = 0; n < fabric_.nodes.size(); ++n) {
      const IbNode& node = fabric_.nodes[n];
      if (node.kind != IbKind::fabric_switch) continue;
      std::string name = switch_name(node.description);
      if (name.empty() || uses[name] > 1) name = fmt::format("{} {:016x}", name, node.guid);
      at_[n] =
          graph_.add(name, kNone, FabricSwitchFacts{.level = 1, .guid = node.guid, .ports = node.port_count});
    }
  }

  /// Descriptions of several words that adapters of several systems share: they are the vendor's, not a
  /// host's.
  std::unordered_set<std::string> anonymous_names() const {
    std::unordered_map<std::string, uint64_t> systems;
    std::unordered_set<std::string> shared;
    for (const IbNode& node : fabric_.nodes) {
      const AdapterName name = adapter_name(node.description);
      if (node.kind != IbKind::adapter || !name.nic.empty()) continue;
      const auto [known, is_new] = systems.emplace(name.host, node.system_guid);
      const bool several_words = name.host.find_first_of(" \t") != std::string::npos;
      if (!is_new && several_words && (known->second != node.system_guid || node.system_guid == 0))
        shared.insert(name.host);
    }
    return shared;
  }

  void add_adapters() {
    const std::unordered_set<std::string> anonymous = anonymous_names();
    std::unordered_map<std::string, Index> hosts;
    std::unordered_set<std::string> nics;
    for (size_t n = 0; n < fabric_.nodes.size(); ++n) {
      const IbNode& node = fabric_.nodes[n];
      if (node.kind == IbKind::router) ++routers_;
      const bool helper = ib::is_aggregation_node(node.kind, node.description);
      if (helper) ++aggregation_nodes_;
      if (node.kind != IbKind::adapter || helper) continue;
      auto [host, nic] = adapter_name(node.description);
      if (nic.empty()) nic = fmt::format("{:016x}", node.guid);
      const bool nameless = host.empty() || anonymous.contains(host);
      if (nameless || !nics.insert(fmt::format("{}\n{}", host, nic)).second) {
        if (anonymous_hosts_++ == 0) first_anonymous_ = node.description;
        const bool by_system = nameless && node.system_guid != 0;
        host = fmt::format("{} {:016x}", host, by_system ? node.system_guid : node.guid);
      }
      const auto [known, is_new] = hosts.emplace(host, graph_.size());
      if (is_new) graph_.add(host, kNone, HostFacts{});
      at_[n] = graph_.add(nic, known->second, NicFacts{});
      add_ports(n);
    }
  }

  void add_ports(size_t n) {
    for (const IbPort& port : fabric_.nodes[n].ports) {
      const double gbit = gbit_per_s(port);
      PortFacts facts;
      facts.number = port.number;
      facts.mbit_per_s = gbit * 1000;
      facts.guid = port.guid;
      facts.lid = port.lid;
      facts.layer = PortLayer::infiniband;
      const Index index = graph_.add(std::to_string(port.number), at_[n], facts);
      graph_.connect({.from = at_[n], .to = index, .kind = LinkKind::inner, .gb_per_s = gbit / 8});
    }
  }

  /// Counts aggregation nodes that occur only as peers.
  void count_unlisted() {
    for (const IbNode& node : fabric_.nodes) {
      for (const IbPort& port : node.ports) {
        if (!by_guid_.contains(port.peer)) ++aggregation_nodes_;
      }
    }
  }

  Status note_left_out() {
    if (aggregation_nodes_ > 0) {
      WEIR_TRY(leave_out(
          notes_, fmt::format("{} aggregation nodes (SHARP) of switches are ignored", aggregation_nodes_)));
    }
    if (routers_ > 0) WEIR_TRY(leave_out(notes_, fmt::format("{} routers are ignored", routers_)));
    if (anonymous_hosts_ > 0) {
      return leave_out(notes_,
                       fmt::format("the descriptions of {} adapters do not identify their hosts, like {}; "
                                   "each adapter is treated as a host of its own, named by GUID",
                                   anonymous_hosts_, shown(first_anonymous_)));
    }
    return {};
  }

  /// The node at the end of a cable: the port of an adapter, which directly follows it, or the switch.
  Index end_of(size_t n, size_t p) const {
    return fabric_.nodes[n].kind == IbKind::fabric_switch ? at_[n] : at_[n] + 1 + static_cast<Index>(p);
  }

  /// A cable of a node, by the numbers of its ports.
  struct Cable {
    int port;
    size_t peer;
    int peer_port;
    double gbit;
  };

  /// Adds the cables of a node that lead to later nodes.
  Status add_cables(size_t n) {
    std::map<std::tuple<Index, Index, double>, size_t> parallel;  // index of the link; key: ends and speed
    std::map<std::pair<Index, Index>, std::vector<Cable>> bundles;
    const IbNode& node = fabric_.nodes[n];
    for (size_t p = 0; p < node.ports.size(); ++p) {
      const IbPort& port = node.ports[p];
      const auto peer = by_guid_.find(port.peer);
      if (peer == by_guid_.end()) continue;  // an aggregation node
      const size_t other = peer->second;
      if (other < n || at_[other] == kNone) continue;
      if (other == n && port.peer_number < port.number) continue;  // already added
      if (other == n) {
        WEIR_TRY(leave_out(notes_,
                           fmt::format("the cable from port {} to port {} of the same node {:x} is ignored",
                                       port.number, port.peer_number, node.guid)));
        continue;
      }
      const std::vector<IbPort>& ports = fabric_.nodes[other].ports;
      const auto back = std::find_if(ports.begin(), ports.end(),
                                     [&](const IbPort& end) { return end.number == port.peer_number; });
      double gbit = 0;
      WEIR_TRY(speed_of(node, port, *back, gbit));
      const Index from = end_of(n, p);
      const Index to = end_of(other, static_cast<size_t>(back - ports.begin()));
      bundles[{from, to}].push_back({port.number, other, port.peer_number, gbit});
      const auto [known, is_new] = parallel.emplace(std::tuple(from, to, gbit), graph_.links().size());
      if (is_new) {
        graph_.connect({.from = from, .to = to, .kind = LinkKind::cable, .gb_per_s = gbit / 8});
        continue;
      }
      for (const size_t direction : {known->second, known->second + 1}) {
        Link& link = graph_.links()[direction];
        ++link.count;
        link.gb_per_s = gbit / 8 * link.count;
      }
    }
    for (const auto& [ends, cables] : bundles) note_unlike(node, cables);
    return {};
  }

  /// Names each of parallel cables that has another speed than most of them.
  void note_unlike(const IbNode& node, const std::vector<Cable>& cables) const {
    std::map<double, size_t> speeds;
    for (const Cable& cable : cables) ++speeds[cable.gbit];
    if (notes_ == nullptr || speeds.size() < 2) return;
    const auto [usual, count] = *std::ranges::max_element(
        speeds, {}, [](const auto& speed) { return std::pair(speed.second, speed.first); });
    for (const Cable& cable : cables) {
      if (cable.gbit == usual) continue;
      notes_->push_back(
          fmt::format("the cable from port {} of {} to port {} of {} runs at {:g} Gbit/s, but {} of the {} "
                      "parallel ones at "
                      "{:g}",
                      cable.port, name_of(node), cable.peer_port, name_of(fabric_.nodes[cable.peer]),
                      cable.gbit, count, cables.size(), usual));
    }
  }

  static std::string name_of(const IbNode& node) {
    return fmt::format("{} {:x}", shown(node.description), node.guid);
  }

  Status speed_of(const IbNode& node, const IbPort& port, const IbPort& back, double& gbit) {
    const double here = gbit_per_s(port);
    const double there = gbit_per_s(back);
    gbit = here == 0 || there == 0 ? std::max(here, there) : std::min(here, there);
    if (here == 0 || there == 0 || here == there) return {};
    return leave_out(
        notes_,
        fmt::format(
            "the ends of the cable at port {} of node {:x} report {} and {} Gbit/s; the slower speed is used",
            port.number, node.guid, here, there));
  }

  const IbFabric& fabric_;
  Notes* notes_;
  Graph graph_;
  std::unordered_map<uint64_t, size_t> by_guid_;
  std::vector<Index> at_;  ///< graph node of each node of the fabric; kNone: ignored
  size_t aggregation_nodes_ = 0;
  size_t routers_ = 0;
  size_t anonymous_hosts_ = 0;
  std::string first_anonymous_;
};

}  // namespace

Result<Graph> graph_of(const IbFabric& fabric, Notes* notes) {
  WEIR_TRY(ib::check(fabric, [&](size_t node, size_t, const std::string& sentence) -> Status {
    return {Code::invalid_argument, fmt::format("node {:x}: {}", fabric.nodes[node].guid, sentence)};
  }));
  return IbGraphBuilder(fabric, notes).run();
}

}  // namespace weir::topology
