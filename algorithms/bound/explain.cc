// SPDX-License-Identifier: Apache-2.0
// Explains bounds as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/bound/bound.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using topology::GpuFacts;
using topology::Graph;
using topology::Index;
using topology::NodeKind;

constexpr size_t kMostNames = 3;

/// Names of links by kind: singular and plural.
constexpr const char* kLinkWords[topology::kLinkKinds][2] = {
    {"PCIe link", "PCIe links"}, {"link between NUMA nodes", "links between NUMA nodes"},
    {"NVLink", "NVLinks"},       {"xGMI link", "xGMI links"},
    {"C2C link", "C2C links"},   {"link inside a device", "links inside a device"},
    {"cable", "cables"}};

/// "a", "a and b", "a, b, c and 5 more".
std::string list(const std::vector<std::string>& names) {
  const size_t shown = names.size() > kMostNames + 1 ? kMostNames : names.size();
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == names.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

class Words {
 public:
  Words(const Network& network, const Graph& graph)
      : network_(network), graph_(graph), side_(at(graph.size()), -1) {
    for (int32_t node : network.rank_nodes) {
      ranks_.push_back(network.origin[at(node)]);
      hosts_.push_back(graph.holder(ranks_.back(), NodeKind::host));
    }
    one_host_ = std::ranges::count(hosts_, hosts_[0]) == std::ssize(hosts_);
  }

  /// Selects `inside` as the set.
  void look_at(const std::vector<int32_t>& inside) {
    for (Index node : network_.origin) side_[at(node)] = 0;
    for (int32_t node : inside) side_[at(network_.origin[at(node)])] = 1;
    for (const auto& [node, part_of] : network_.others)
      side_[at(node)] = side_[at(network_.origin[at(part_of)])];
  }

  /// The links that enter or leave the set.
  struct Crossing {
    std::string words;  ///< text like "4 cables and 2 PCIe links"
    bool one = false;   ///< whether it is a single link
  };
  Crossing crossing(bool into) const {
    std::array<int, topology::kLinkKinds> counts{};
    for (const topology::Link& link : graph_.links()) {
      if (side_[at(link.from)] == (into ? 0 : 1) && side_[at(link.to)] == (into ? 1 : 0)) {
        counts[static_cast<size_t>(link.kind)] += link.count;
      }
    }
    std::vector<std::string> names;
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      if (counts[kind] > 0)
        names.push_back(fmt::format("{} {}", counts[kind], kLinkWords[kind][counts[kind] > 1]));
    }
    return {list(names), std::accumulate(counts.begin(), counts.end(), 0) == 1};
  }

  /// Whether the set contains most of the ranks.
  bool is_most() const {
    const auto inside =
        std::count_if(ranks_.begin(), ranks_.end(), [&](Index rank) { return side_[at(rank)] == 1; });
    return 2 * static_cast<size_t>(inside) > ranks_.size();
  }

  /// The ranks in the set (side 1) or in the rest (0) as text: "host n0", "package 2 of host n0", "GPU 1 of
  /// host n0".
  std::string place(int side) const {
    std::vector<Index> hosts;
    std::vector<Index> some;  // ranks of hosts that are not completely inside
    std::vector<char> divided(at(graph_.size()));
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (side_[at(ranks_[rank])] != side && hosts_[rank] != topology::kNone) divided[at(hosts_[rank])] = 1;
    }
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (side_[at(ranks_[rank])] != side) continue;
      const Index host = hosts_[rank];
      if (host == topology::kNone || divided[at(host)] != 0) {
        some.push_back(ranks_[rank]);
      } else if (hosts.empty() || hosts.back() != host) {
        hosts.push_back(host);
      }
    }
    std::vector<std::string> names;
    for (Index host : hosts) names.push_back(fmt::format("host {}", graph_[host].name));
    if (const std::string whole = package(some); !whole.empty()) {
      names.push_back(whole);
    } else {
      for (Index rank : some) names.push_back(device(rank));
    }
    return list(names);
  }

 private:
  /// The text if the ranks are all ranks of one package of several dies.
  std::string package(const std::vector<Index>& some) const {
    if (some.size() < 2) return {};
    const auto number = [&](Index node) {
      const auto* gpu = graph_.get<GpuFacts>(node);
      return std::pair(graph_.holder(node, NodeKind::host), gpu == nullptr ? -1 : gpu->package);
    };
    const auto own = number(some[0]);
    const auto same = [&](Index node) { return number(node) == own; };
    const auto all = std::count_if(ranks_.begin(), ranks_.end(), same);
    if (own.second < 0 || own.first == topology::kNone || static_cast<size_t>(all) != some.size() ||
        !std::all_of(some.begin(), some.end(), same)) {
      return {};
    }
    return of_host(fmt::format("package {}", own.second), own.first);
  }

  std::string device(Index node) const {
    const Index host = graph_.holder(node, NodeKind::host);
    const std::string own = fmt::format("{} {}", topology::name(graph_[node].kind()), graph_[node].name);
    return host == node ? own : of_host(own, host);
  }

  /// If all ranks are in one host, the host is not named.
  std::string of_host(const std::string& own, Index host) const {
    return one_host_ || host == topology::kNone ? own : fmt::format("{} of host {}", own, graph_[host].name);
  }

  const Network& network_;
  const Graph& graph_;
  std::vector<Index> ranks_;
  std::vector<Index> hosts_;  // index: rank
  bool one_host_ = false;
  std::vector<char> side_;  // index: node of the topology; 1 in the set, 0 not, -1 not in the network
};

/// The fraction of M that must pass, from time and capacity.
std::string passing(const Ratio& time, Int128 capacity) {
  const Ratio per_numerator(capacity, time.denominator);
  const Ratio share(time.numerator * per_numerator.numerator, per_numerator.denominator);
  if (share == Ratio(1, 1)) return "all bytes";
  return share < Ratio(1, 1) ? text(share) + " of all bytes"
                             : fmt::format("{:.4g} times all bytes", share.value());
}

std::string figure(Int128 capacity) {
  return fmt::format("{:.6g} GB/s", static_cast<double>(capacity) * kCapacityUnit);
}

/// A cut of the network; index: node; 1 inside.
class Border {
 public:
  Border(const Network& network, const std::vector<int32_t>& nodes, bool into)
      : network_(network), into_(into), inside_(at(network.nodes)) {
    for (int32_t node : nodes) inside_[at(node)] = 1;
  }

  Int128 capacity() const {
    Int128 sum = 0;
    for (const Edge& edge : network_.edges) {
      if (crosses(edge)) sum += edge.capacity;
    }
    return sum;
  }

  /// If the border crosses a device (between a NIC and its port) and could as well be behind it, it is moved
  /// there, because the cable is visible to people.
  void leave_devices(const Graph& graph) {
    std::vector<Int128> more(
        at(network_.nodes));  // index: node outside; capacity behind it minus capacity before it
    std::vector<char> may(at(network_.nodes));
    for (const Edge& edge : network_.edges) {
      const int32_t near = into_ ? edge.to : edge.from;
      const int32_t far = into_ ? edge.from : edge.to;
      if (inside_[at(far)] != 0) continue;
      if (inside_[at(near)] == 0) {
        more[at(near)] += edge.capacity;
      } else {
        more[at(far)] -= edge.capacity;
        if (edge.link >= 0 && graph.links()[at(edge.link)].kind == topology::LinkKind::inner)
          may[at(far)] = 1;
      }
    }
    for (int32_t node : network_.rank_nodes) may[at(node)] = 0;
    const std::vector<char> before = inside_;
    const Int128 capacity_before = capacity();
    for (size_t node = 0; node < may.size(); ++node) {
      if (may[node] != 0 && more[node] == 0) inside_[node] = 1;
    }
    if (capacity() != capacity_before) inside_ = before;
  }

  std::vector<int32_t> nodes() const {
    std::vector<int32_t> nodes;
    for (int32_t node = 0; node < network_.nodes; ++node) {
      if (inside_[at(node)] != 0) nodes.push_back(node);
    }
    return nodes;
  }

 private:
  bool crosses(const Edge& edge) const {
    return inside_[at(edge.from)] == (into_ ? 0 : 1) && inside_[at(edge.to)] == (into_ ? 1 : 0);
  }

  const Network& network_;
  const bool into_;
  std::vector<char> inside_;
};

std::string explain_cut(const Bound& bound, const Network& network, const Graph& graph) {
  const bool into = bound.witness == Witness::into;
  Border border(network, bound.sets[0], into);
  border.leave_devices(graph);
  Words words(network, graph);
  words.look_at(border.nodes());
  const int side = words.is_most() ? 0 : 1;
  const bool enters = into == (side == 1);
  const Words::Crossing crossing = words.crossing(into);
  return fmt::format("the {} {} {} {} the bottleneck: {} must pass through {}", crossing.words,
                     enters ? "into" : "out of", words.place(side), crossing.one ? "is" : "are",
                     passing(bound.time, border.capacity()), figure(border.capacity()));
}

std::string explain_partition(const Bound& bound, const Network& network, const Graph& graph) {
  Words words(network, graph);
  std::vector<std::string> places;
  for (size_t i = 0; i < bound.sets.size() && i <= kMostNames; ++i) {
    words.look_at(bound.sets[i]);
    places.push_back(words.place(1));
  }
  if (places.size() < bound.sets.size()) places.back() = "...";
  const auto messages = static_cast<Int128>(2 * (bound.sets.size() - 1));
  const Ratio capacity(messages * bound.time.denominator, bound.time.numerator);
  return fmt::format(
      "the links into the {} parts ({}) are the bottleneck: {} times all bytes must pass through {:.6g} GB/s",
      bound.sets.size(), fmt::join(places, "; "), messages, capacity.value() * kCapacityUnit);
}

}  // namespace

Bound outside_devices(const Bound& bound, const Network& network, const Graph& graph) {
  Bound shown = bound;
  if (bound.witness != Witness::into && bound.witness != Witness::out_of) return shown;
  Border border(network, bound.sets[0], bound.witness == Witness::into);
  border.leave_devices(graph);
  shown.sets[0] = border.nodes();
  return shown;
}

std::string explain(const Bound& bound, const Network& network, const Graph& graph) {
  switch (bound.witness) {
    case Witness::nothing: return "one rank alone needs no time";
    case Witness::between: return explain_partition(bound, network, graph);
    default: return explain_cut(bound, network, graph);
  }
}

}  // namespace weir::algorithms
