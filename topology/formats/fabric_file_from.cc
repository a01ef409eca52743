// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "topology/formats/fabric_file.h"
#include "topology/formats/levels.h"

namespace weir::topology {
namespace {

/// Links between two nodes of the network; both directions count as one.
struct Cable {
  Index from = kNone;
  Index to = kNone;
  double gbit_per_s = 0;  ///< speed of each link
  int rail = -1;
  int counts[2] = {0, 0};  ///< links in the two directions

  int count() const { return std::max(counts[0], counts[1]); }
};

double gbit_of_each(const Link& link) { return std::round(link.gb_per_s * 8 / link.count * 1e6) / 1e6; }

class FabricFinder {
 public:
  explicit FabricFinder(const Graph& graph) : graph_(graph), levels_(static_cast<size_t>(graph.size())) {}

  FabricFile run() {
    find_levels();
    find_cables();
    write_switches();
    for (const Index host : graph_.all(NodeKind::host)) file_.hosts.push_back(graph_[host].name);
    write_cables();
    write_attachments();
    return std::move(file_);
  }

 private:
  bool is_switch(Index node) const { return graph_[node].kind() == NodeKind::fabric_switch; }
  int level(Index node) const { return levels_[static_cast<size_t>(node)]; }

  /// Whether a link from this node to a switch belongs to the network.
  bool is_end(Index node) const {
    const NodeKind kind = graph_[node].kind();
    const bool kind_fits = kind == NodeKind::host || kind == NodeKind::nic || kind == NodeKind::port;
    return kind_fits && graph_.holder(node, NodeKind::host) != kNone;
  }

  void find_levels() {
    const std::vector<Index> switches = graph_.all(NodeKind::fabric_switch);
    std::optional<Graph> with_levels;
    for (const Index node : switches) {
      int& level = levels_[static_cast<size_t>(node)];
      level = graph_.get<FabricSwitchFacts>(node)->level;
      if (level > 0) continue;
      if (!with_levels) assign_levels(with_levels.emplace(graph_));
      level = with_levels->get<FabricSwitchFacts>(node)->level;
    }
  }

  void find_cables() {
    std::map<std::tuple<Index, Index, double, int>, std::pair<bool, size_t>> known;
    for (const Link& link : graph_.links()) {
      if (link.kind != LinkKind::cable && link.kind != LinkKind::nvlink) continue;
      const bool between = is_switch(link.from) && is_switch(link.to) && link.kind == LinkKind::cable;
      const bool attaches = !between && ((is_end(link.from) && is_switch(link.to)) ||
                                         (is_switch(link.from) && is_end(link.to)));
      if ((!between && !attaches) || link.count < 1 || link.from == link.to) continue;
      if (attaches && link.kind == LinkKind::nvlink)
        islands_.insert(is_switch(link.from) ? link.from : link.to);
      const bool back = between
                            ? std::tuple(level(link.from), link.from) > std::tuple(level(link.to), link.to)
                            : is_switch(link.from);
      const Index from = back ? link.to : link.from;
      const Index to = back ? link.from : link.to;
      const int rail = attaches ? link.rail : -1;
      std::vector<Cable>& list = between ? cables_ : attachments_;
      const auto [place, is_new] =
          known.try_emplace({from, to, gbit_of_each(link), rail}, between, list.size());
      if (is_new) list.push_back({from, to, gbit_of_each(link), rail, {0, 0}});
      list[place->second.second].counts[back ? 1 : 0] += link.count;
    }
  }

  void write_switches() {
    for (const Index node : graph_.all(NodeKind::fabric_switch)) {
      const uint64_t guid = graph_.get<FabricSwitchFacts>(node)->guid;
      const bool island = islands_.contains(node) && level(node) == 1;
      const bool joins = !file_.switches.empty() && guid == 0 && file_.switches.back().guid == 0 &&
                         file_.switches.back().level == level(node) && file_.switches.back().island == island;
      if (!joins) file_.switches.push_back({{}, level(node), island, guid});
      file_.switches.back().names.push_back(graph_[node].name);
    }
  }

  /// First combines cables from one switch at one speed, then switches with the same peers.
  void write_cables() {
    std::map<std::tuple<Index, int, double>, size_t> by_from;
    std::vector<FabricCable> single;
    for (const Cable& cable : cables_) {
      const auto [place, is_new] =
          by_from.try_emplace({cable.from, cable.count(), cable.gbit_per_s}, single.size());
      if (is_new) {
        single.push_back({.from = {graph_[cable.from].name},
                          .to = {},
                          .count = cable.count(),
                          .gbit_per_s = cable.gbit_per_s});
      }
      single[place->second].to.push_back(graph_[cable.to].name);
    }
    std::map<std::tuple<std::vector<std::string>, int, double>, size_t> by_to;
    for (FabricCable& one : single) {
      const auto [place, is_new] =
          by_to.try_emplace({one.to, one.count, one.gbit_per_s}, file_.cables.size());
      if (is_new) {
        file_.cables.push_back(std::move(one));
      } else {
        file_.cables[place->second].from.push_back(std::move(one.from[0]));
      }
    }
  }

  /// One line per kind of attachment, with all hosts that share it, in the order of hosts and of their
  /// contents.
  void write_attachments() {
    std::unordered_map<Index, size_t> host_places;
    for (const Index host : graph_.all(NodeKind::host)) host_places.emplace(host, host_places.size());
    const auto order = [&](const Cable& cable) {
      return std::tuple(host_places.at(graph_.holder(cable.from, NodeKind::host)), cable.from);
    };
    std::stable_sort(attachments_.begin(), attachments_.end(),
                     [&](const Cable& a, const Cable& b) { return order(a) < order(b); });
    std::unordered_map<std::string, size_t> places;
    std::set<std::tuple<Index, std::string, int>> used;
    for (const Cable& cable : attachments_) {
      FabricAttachment one = attachment_of(cable, used);
      const std::string key =
          fmt::format("{}\n{}\n{}\n{}\n{}\n{}", fmt::join(one.nics, ""), one.port, one.switches[0], one.count,
                      one.gbit_per_s, fmt::join(one.rails, ""));
      const auto [place, is_new] = places.try_emplace(key, file_.attachments.size());
      if (is_new || one.guid != 0 || file_.attachments[place->second].guid != 0) {
        place->second = file_.attachments.size();
        file_.attachments.push_back(std::move(one));
      } else {
        file_.attachments[place->second].hosts.push_back(std::move(one.hosts[0]));
      }
    }
  }

  FabricAttachment attachment_of(const Cable& cable,
                                 std::set<std::tuple<Index, std::string, int>>& used) const {
    const Index host = graph_.holder(cable.from, NodeKind::host);
    const Index nic = graph_.holder(cable.from, NodeKind::nic);
    FabricAttachment one;
    one.hosts = {graph_[host].name};
    one.switches = {graph_[cable.to].name};
    one.count = cable.count();
    one.gbit_per_s = cable.gbit_per_s;
    int rail = cable.rail;
    if (nic != kNone) {
      one.nics = {graph_[nic].name};
      one.gbit_per_s *= one.count;  // a port has one cable
      one.count = 1;
      if (const PortFacts* port = graph_.get<PortFacts>(cable.from)) {
        one.port = port->number;
        one.guid = port->guid;
        if (rail < 0) rail = port->rail;
      }
      if (one.port < 1) one.port = 1;
      // Distinguishes ports without numbers of their own.
      while (!used.emplace(host, one.nics[0], one.port).second) ++one.port;
    }
    if (rail >= 0) one.rails = {rail};
    return one;
  }

  const Graph& graph_;
  std::vector<int> levels_;
  std::vector<Cable> cables_;
  std::vector<Cable> attachments_;
  std::unordered_set<Index> islands_;
  FabricFile file_;
};

}  // namespace

FabricFile fabric_of(const Graph& graph) { return FabricFinder(graph).run(); }

}  // namespace weir::topology
