// SPDX-License-Identifier: Apache-2.0

#include "topology/views/host_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>

#include "src/base/index.h"
#include "topology/model/derive.h"
#include "topology/views/facts.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

/// Above the first number NICs and PCI functions without driver are folded, above the second one GPUs as
/// well, and no more devices than that are drawn.
constexpr size_t kRoomy = 20;
constexpr size_t kMost = 40;
/// If there are more NUMA nodes, only those with devices are drawn.
constexpr int64_t kMostColumns = 8;

class HostPartsFinder {
 public:
  HostPartsFinder(const Graph& graph, Index host)
      : graph_(graph),
        host_(host),
        host_of_(hosts_of(graph)),
        children_(children_of(graph)),
        under_(static_cast<size_t>(graph.size()), -1) {
    for (Index node = host; node < graph.size(); ++node) {
      if (host_of_[at(node)] == host) nodes_.push_back(node);
    }
  }

  HostParts find() {
    find_drawn();
    for (const Index node : nodes_) place(node);
    if (devices() > kRoomy) fold(false);
    if (devices() > kMost) fold(true);
    if (devices() > kMost) cut();
    renumber();
    find_switches();
    find_rings();
    return std::move(result_);
  }

 private:
  Part& part(int number) { return result_.parts[static_cast<size_t>(number)]; }

  size_t devices() const {
    return static_cast<size_t>(std::count_if(result_.parts.begin(), result_.parts.end(), [](const Part& p) {
      return p.kind == Part::Kind::device && !p.members.empty();
    }));
  }

  /// A bridge is drawn if it leads to a device, or to nothing at all (files that show bare PCI functions).
  void find_drawn() {
    branches_.assign(at(graph_.size()), 0);
    drawn_.assign(at(graph_.size()), false);
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      const NodeKind kind = graph_[*node].kind();
      drawn_[at(*node)] =
          kind == NodeKind::gpu || kind == NodeKind::nic || kind == NodeKind::numa ||
          (kind == NodeKind::bridge && (branches_[at(*node)] > 0 || children_[at(*node)].empty()));
      if (drawn_[at(*node)] && *node != host_) ++branches_[at(graph_[*node].parent)];
      result_.gpus += kind == NodeKind::gpu ? 1 : 0;
      result_.nics += kind == NodeKind::nic ? 1 : 0;
    }
  }

  int add(Part::Kind kind, Index member, int parent) {
    const int number = static_cast<int>(result_.parts.size());
    Part& made = result_.parts.emplace_back();
    made.kind = kind;
    if (member != kNone) made.members.push_back(member);
    made.parent = parent;
    return number;
  }

  /// Selects the part below which the children of `node` are drawn, and makes a part for it if needed.
  void place(Index node) {
    if (!drawn_[at(node)]) return;
    const NodeKind kind = graph_[node].kind();
    if (kind == NodeKind::numa) {
      under_[at(node)] = add(Part::Kind::column, node, -1);
      return;
    }
    const Index holder = graph_[node].parent;
    int parent = under_[at(holder)];
    if (parent < 0) {
      if (loose_ < 0) loose_ = add(Part::Kind::column, kNone, -1);
      parent = loose_;
    }
    if (kind == NodeKind::bridge && branches_[at(node)] == 1) {
      under_[at(node)] = parent;
      passed_[node] = true;
      return;
    }
    const bool is_bridge = kind == NodeKind::bridge && branches_[at(node)] > 1;
    const int number = add(is_bridge ? Part::Kind::bridge : Part::Kind::device, node, parent);
    under_[at(node)] = number;
    std::vector<Index> chain;
    for (Index up = holder; passed_.count(up) > 0; up = graph_[up].parent) chain.push_back(up);
    std::reverse(chain.begin(), chain.end());
    part(number).chains.push_back(std::move(chain));
  }

  double speed(Index nic) const {
    double sum = 0;
    for (const Index port : ports_of(children_, graph_, nic)) sum += speed_of(*graph_.get<PortFacts>(port));
    return sum;
  }

  /// Devices with equal keys may be folded.
  std::string key(const Part& device) const {
    const Node& node = graph_[device.members[0]];
    std::string text = fmt::format("{}/{}/{}", device.parent, node.facts.index(), device.chains[0].size());
    if (node.kind() == NodeKind::nic) text += fmt::format("/{}", figure(speed(device.members[0])));
    if (const auto* gpu = graph_.get<GpuFacts>(device.members[0])) text += "/" + gpu->arch;
    return text;
  }

  void fold(bool gpus_too) {
    std::unordered_map<std::string, size_t> first;
    for (size_t i = 0; i < result_.parts.size(); ++i) {
      Part& own = result_.parts[i];
      if (own.kind != Part::Kind::device || own.members.empty()) continue;
      if (!gpus_too && graph_[own.members[0]].kind() == NodeKind::gpu) continue;
      const auto [found, added] = first.try_emplace(key(own), i);
      if (added) continue;
      Part& into = result_.parts[found->second];
      into.members.insert(into.members.end(), own.members.begin(), own.members.end());
      into.chains.insert(into.chains.end(), own.chains.begin(), own.chains.end());
      own.members.clear();
    }
  }

  void cut() {
    size_t kept = 0;
    for (Part& own : result_.parts) {
      if (own.kind != Part::Kind::device || own.members.empty() || ++kept <= kMost) continue;
      result_.left_out += static_cast<int64_t>(own.members.size());
      own.members.clear();
    }
  }

  /// Columns in the order of their NUMA numbers, devices without NUMA node last; then the others unchanged.
  std::vector<size_t> order() const {
    std::vector<size_t> order(result_.parts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto rank = [&](size_t i) {
      const Part& own = result_.parts[i];
      if (own.kind != Part::Kind::column) return std::pair(2, 0);
      return own.members.empty() ? std::pair(1, 0)
                                 : std::pair(0, graph_.get<NumaFacts>(own.members[0])->number);
    };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });
    return order;
  }

  /// Removes folded and omitted parts; columns come first.
  void renumber() {
    std::vector<bool> kept(result_.parts.size());
    const bool all_columns = std::count_if(result_.parts.begin(), result_.parts.end(), [](const Part& p) {
                               return p.kind == Part::Kind::column;
                             }) <= kMostColumns;
    for (size_t i = result_.parts.size(); i-- > 0;) {
      const Part& own = result_.parts[i];
      const bool device = own.kind == Part::Kind::device && !own.members.empty();
      const bool column = own.kind == Part::Kind::column;
      kept[i] = kept[i] || device || (column && all_columns);
      result_.empty_columns += column && !kept[i] ? 1 : 0;
      if (kept[i] && own.parent >= 0) kept[static_cast<size_t>(own.parent)] = true;
    }
    std::vector<int> number(result_.parts.size(), -1);
    std::vector<Part> parts;
    for (const size_t i : order()) {
      Part& own = result_.parts[i];
      if (kept[i]) {
        number[i] = static_cast<int>(parts.size());
        if (own.kind == Part::Kind::column) result_.columns.push_back(number[i]);
        if (own.parent >= 0) {
          own.parent = number[static_cast<size_t>(own.parent)];
          parts[static_cast<size_t>(own.parent)].children.push_back(number[i]);
        }
        parts.push_back(std::move(own));
      }
    }
    result_.parts = std::move(parts);
  }

  void find_switches() {
    std::map<Index, std::vector<Index>> gpus;  // key: switch
    for (const Index node : nodes_) {
      if (graph_[node].kind() == NodeKind::nvswitch) gpus[node];
    }
    for (const Link& link : graph_.links()) {
      if (graph_[link.to].kind() == NodeKind::nvswitch && graph_[link.from].kind() == NodeKind::gpu &&
          host_of_[at(link.from)] == host_)
        gpus[link.to].push_back(link.from);
    }
    std::map<std::vector<Index>, size_t> groups;
    for (auto& [own, list] : gpus) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      const auto [found, added] = groups.try_emplace(list, result_.nvswitches.size());
      if (added) result_.nvswitches.push_back({{}, list});
      result_.nvswitches[found->second].switches.push_back(own);
    }
  }

  void find_rings() {
    std::map<Index, std::vector<Index>> peers;
    for (const Link& link : graph_.links()) {
      if (graph_[link.from].kind() == NodeKind::gpu && graph_[link.to].kind() == NodeKind::gpu &&
          host_of_[at(link.from)] == host_ && host_of_[at(link.to)] == host_)
        peers[link.from].push_back(link.to);
    }
    std::unordered_map<Index, bool> seen;
    for (const auto& [start, unused] : peers) {
      if (!seen.try_emplace(start, true).second) continue;
      std::vector<Index> ring = {start};
      for (size_t i = 0; i < ring.size(); ++i) {
        for (const Index peer : peers[ring[i]]) {
          if (seen.try_emplace(peer, true).second) ring.push_back(peer);
        }
      }
      std::sort(ring.begin(), ring.end());
      result_.rings.push_back(std::move(ring));
    }
  }

  const Graph& graph_;
  const Index host_;
  const std::vector<Index> host_of_;
  const std::vector<std::vector<Index>> children_;
  std::vector<Index> nodes_;  ///< nodes of the host
  std::vector<bool> drawn_;
  std::vector<int> branches_;  ///< index: node; number of children that are drawn
  std::vector<int> under_;     ///< index: node; the part to which its children belong
  std::unordered_map<Index, bool> passed_;
  int loose_ = -1;
  HostParts result_;
};

}  // namespace

HostParts parts_of(const Graph& graph, Index host) { return HostPartsFinder(graph, host).find(); }

}  // namespace weir::topology
