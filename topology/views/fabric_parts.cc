// SPDX-License-Identifier: Apache-2.0

#include "topology/views/fabric_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>

#include "src/base/index.h"
#include "topology/model/derive.h"
#include "topology/views/facts.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

constexpr size_t kMostPods = 6;
constexpr size_t kMostLeaves = 12;
constexpr size_t kMostHosts = 12;
constexpr size_t kMostKinds = 4;       ///< maximum number of kinds of hosts in a pod
constexpr size_t kMostInRow = 8;       ///< maximum number of switches in a row above the leaves
constexpr size_t kMostCrossings = 48;  ///< maximum number of lines between two rows of boxes
constexpr size_t kMostInPod = 24;      ///< maximum number of lines between several leaves and their hosts

/// Sums of the cables of a switch.
struct Cables {
  int64_t down = 0, up = 0;
  double down_gb_per_s = 0, up_gb_per_s = 0;

  std::string key() const {
    return fmt::format("{}/{}/{}/{}", down, up, figure(down_gb_per_s), figure(up_gb_per_s));
  }
};

class FabricPartsFinder {
 public:
  explicit FabricPartsFinder(const Graph& graph) : graph_(graph), leader_(at(graph.size())) {
    result_.hosts_of = hosts_of(graph);
    result_.sums.resize(at(graph.size()));
    result_.levels.assign(at(graph.size()), 0);
    std::iota(leader_.begin(), leader_.end(), 0);
  }

  FabricParts find() {
    sum_hosts();
    find_levels();
    sum_cables();
    join();
    make_pods();
    fold_pods();
    fold_hosts();
    fold_leaves();
    make_upper();
    return std::move(result_);
  }

 private:
  bool is_switch(Index node) const { return graph_[node].kind() == NodeKind::fabric_switch; }
  bool is_leaf(Index node) const { return is_switch(node) && result_.levels[at(node)] == 1; }
  bool is_shared(Index node) const {
    return graph_[node].kind() == NodeKind::nvswitch && result_.hosts_of[at(node)] == kNone;
  }
  /// A host represents all its contents.
  Index outer(Index node) const {
    return result_.hosts_of[at(node)] != kNone ? result_.hosts_of[at(node)] : node;
  }

  void sum_hosts() {
    const std::vector<int> classes = host_classes(graph_);
    size_t next = 0;
    for (Index node = 0; node < graph_.size(); ++node) {
      const Index host = result_.hosts_of[at(node)];
      if (graph_[node].kind() == NodeKind::host) result_.sums[at(node)].kind = classes[next++];
      if (host == kNone) continue;
      HostSum& sum = result_.sums[at(host)];
      sum.gpus += graph_[node].kind() == NodeKind::gpu ? 1 : 0;
      sum.nics += graph_[node].kind() == NodeKind::nic ? 1 : 0;
      if (const auto* port = graph_.get<PortFacts>(node); port != nullptr && port->active)
        sum.gb_per_s += speed_of(*port);
    }
  }

  /// The given level; otherwise one more than the lowest switch below, where hosts have level 0.
  void find_levels() {
    std::vector<std::vector<Index>> peers(at(graph_.size()));
    std::vector<Index> known;
    for (Index node = 0; node < graph_.size(); ++node) {
      if (!is_switch(node)) continue;
      result_.levels[at(node)] = graph_.get<FabricSwitchFacts>(node)->level;
    }
    for (const Link& link : graph_.links()) {
      if (!is_switch(link.from)) continue;
      if (is_switch(link.to)) peers[at(link.from)].push_back(link.to);
      if (!is_switch(link.to) && result_.levels[at(link.from)] == 0) result_.levels[at(link.from)] = 1;
    }
    for (Index node = 0; node < graph_.size(); ++node) {
      if (is_switch(node) && result_.levels[at(node)] > 0) known.push_back(node);
    }
    for (size_t i = 0; i < known.size(); ++i) {
      for (const Index peer : peers[at(known[i])]) {
        if (result_.levels[at(peer)] > 0) continue;
        result_.levels[at(peer)] = result_.levels[at(known[i])] + 1;
        known.push_back(peer);
      }
    }
    for (Index node = 0; node < graph_.size(); ++node) {
      if (is_switch(node) && result_.levels[at(node)] == 0) result_.levels[at(node)] = 1;
    }
  }

  void sum_cables() {
    for (const Link& link : graph_.links()) {
      if (!is_switch(link.from)) continue;
      Cables& cables = cables_[link.from];
      const bool up = is_switch(link.to) && result_.levels[at(link.to)] > result_.levels[at(link.from)];
      (up ? cables.up : cables.down) += link.count;
      (up ? cables.up_gb_per_s : cables.down_gb_per_s) += link.gb_per_s;
    }
  }

  Index find(Index node) {
    while (leader_[at(node)] != node) node = leader_[at(node)] = leader_[at(leader_[at(node)])];
    return node;
  }

  void join() {
    for (const Link& link : graph_.links()) {
      const Index a = outer(link.from), b = outer(link.to);
      const auto belongs = [&](Index node) { return !is_switch(node) || is_leaf(node); };
      if (a == b || !belongs(a) || !belongs(b) || (is_leaf(a) && is_leaf(b))) continue;
      leader_[at(std::max(find(a), find(b)))] = std::min(find(a), find(b));
    }
  }

  void make_pods() {
    std::unordered_map<Index, size_t> place;
    std::vector<Pod> pods;
    for (Index node = 0; node < graph_.size(); ++node) {
      const bool host = graph_[node].kind() == NodeKind::host;
      if (!host && !is_leaf(node) && !is_shared(node)) continue;
      const auto [found, added] = place.try_emplace(find(node), pods.size());
      if (added) pods.emplace_back();
      Pod& pod = pods[found->second];
      if (host) pod.hosts.push_back({node});
      if (is_leaf(node)) pod.leaves.push_back({node});
      if (is_shared(node)) pod.nvswitches.push_back(node);
    }
    Pod loose;  // hosts that are not connected to others
    for (Pod& pod : pods) {
      if (pod.leaves.empty() && pod.nvswitches.empty() && pod.hosts.size() == 1) {
        loose.hosts.push_back(pod.hosts[0]);
      } else {
        result_.pods.push_back(std::move(pod));
      }
    }
    if (!loose.hosts.empty()) result_.pods.push_back(std::move(loose));
  }

  std::string key(const Pod& pod) {
    std::string text = fmt::format("{};", pod.nvswitches.size());
    std::vector<std::string> leaves;
    for (const Block& leaf : pod.leaves) leaves.push_back(cables_[leaf[0]].key());
    std::sort(leaves.begin(), leaves.end());
    for (const std::string& leaf : leaves) text += leaf + ";";
    std::map<int, int> kinds;
    for (const Block& host : pod.hosts) ++kinds[result_.sums[at(host[0])].kind];
    for (const auto& [kind, count] : kinds) text += fmt::format("{}x{};", count, kind);
    return text;
  }

  size_t count(std::vector<Block> Pod::*list) const {
    size_t sum = 0;
    for (const Pod& pod : result_.pods) sum += (pod.*list).size();
    return sum;
  }

  static void merge(std::vector<Block>& blocks) {
    for (size_t i = 1; i < blocks.size(); ++i)
      blocks[0].insert(blocks[0].end(), blocks[i].begin(), blocks[i].end());
    blocks.resize(std::min<size_t>(blocks.size(), 1));
  }

  void fold_pods() {
    if (result_.pods.size() <= kMostPods && count(&Pod::leaves) <= kMostLeaves) return;
    std::unordered_map<std::string, size_t> place;
    std::vector<std::vector<Pod>> groups;  // groups of equal pods
    for (Pod& pod : result_.pods) {
      const auto [found, added] = place.try_emplace(key(pod), groups.size());
      if (added) groups.emplace_back();
      groups[found->second].push_back(std::move(pod));
    }
    result_.pods.clear();
    // If there are too many groups, the largest are drawn, and the others as one.
    const bool all = groups.size() <= kMostPods;
    if (!all) {
      std::stable_sort(groups.begin(), groups.end(),
                       [](const auto& a, const auto& b) { return a.size() > b.size(); });
    }
    const size_t drawn = all ? groups.size() : kMostPods - 1;
    for (size_t i = 0; i < drawn; ++i) {
      result_.pods.push_back(std::move(groups[i][0]));
      result_.pods.back().times = static_cast<int64_t>(groups[i].size());
    }
    if (!all) result_.pods.push_back(rest(groups, drawn));
  }

  static Pod rest(const std::vector<std::vector<Pod>>& groups, size_t first) {
    Pod rest;
    rest.mixed = true;
    rest.times = 0;
    for (size_t i = first; i < groups.size(); ++i) {
      for (const Pod& pod : groups[i]) {
        ++rest.times;
        rest.leaves.insert(rest.leaves.end(), pod.leaves.begin(), pod.leaves.end());
        rest.hosts.insert(rest.hosts.end(), pod.hosts.begin(), pod.hosts.end());
        rest.nvswitches.insert(rest.nvswitches.end(), pod.nvswitches.begin(), pod.nvswitches.end());
      }
    }
    merge(rest.leaves);
    return rest;
  }

  /// Grouped by class and by leaves; if these are too many, by class; if these are still too many, the last
  /// ones as one.
  void fold_hosts() {
    const bool dense = std::any_of(result_.pods.begin(), result_.pods.end(), [](const Pod& pod) {
      return pod.leaves.size() > 1 && pod.leaves.size() * pod.hosts.size() > kMostInPod;
    });
    if (count(&Pod::hosts) <= kMostHosts && !dense) return;
    std::unordered_map<Index, std::set<Index>> leaves;
    for (const Link& link : graph_.links()) {
      if (is_leaf(link.to) && !is_switch(link.from)) leaves[outer(link.from)].insert(link.to);
    }
    for (Pod& pod : result_.pods) {
      std::map<std::pair<int, std::set<Index>>, Block> exact;
      std::map<int, Block> rough;
      for (const Block& block : pod.hosts) {
        const int kind = result_.sums[at(block[0])].kind;
        exact[{kind, leaves[block[0]]}].push_back(block[0]);
        rough[kind].push_back(block[0]);
      }
      pod.hosts.clear();
      for (auto& [unused, block] : exact) {
        if (exact.size() <= kMostKinds) pod.hosts.push_back(std::move(block));
      }
      for (auto& [unused, block] : rough) {
        if (exact.size() > kMostKinds) pod.hosts.push_back(std::move(block));
      }
      if (pod.hosts.size() > kMostKinds) {
        std::vector<Block> last(pod.hosts.begin() + kMostKinds - 1, pod.hosts.end());
        merge(last);
        pod.hosts.resize(kMostKinds - 1);
        pod.hosts.push_back(std::move(last[0]));
      }
    }
  }

  /// The first pod determines the purpose of the leaves.
  void fold_leaves() {
    if (count(&Pod::leaves) <= kMostLeaves) return;
    bool shown = false;
    for (Pod& pod : result_.pods) {
      const bool show = !shown && pod.leaves.size() > 1 && pod.leaves.size() <= kMostLeaves;
      shown = shown || show;
      if (!show) merge(pod.leaves);
    }
  }

  void make_upper() {
    const int highest =
        result_.levels.empty() ? 0 : *std::max_element(result_.levels.begin(), result_.levels.end());
    std::map<int, std::vector<Block>> rows;
    for (Index node = 0; node < graph_.size() && highest > 1; ++node) {
      if (is_switch(node) && !is_leaf(node)) rows[result_.levels[at(node)]].push_back({node});
    }
    size_t below = count(&Pod::leaves);
    for (auto& [unused, row] : rows) {
      if (row.size() > kMostInRow || row.size() * below > kMostCrossings) fold_row(row);
      below = row.size();
      result_.upper.push_back(std::move(row));
    }
  }

  void fold_row(std::vector<Block>& row) {
    std::map<std::string, Block> alike;
    for (const Block& block : row) alike[cables_[block[0]].key()].push_back(block[0]);
    if (alike.size() > kMostKinds) return merge(row);
    row.clear();
    for (auto& [unused, block] : alike) row.push_back(std::move(block));
  }

  const Graph& graph_;
  std::vector<Index> leader_;  ///< representative of each node's set (union-find)
  std::unordered_map<Index, Cables> cables_;
  FabricParts result_;
};

}  // namespace

FabricParts fabric_parts_of(const Graph& graph) { return FabricPartsFinder(graph).find(); }

}  // namespace weir::topology
