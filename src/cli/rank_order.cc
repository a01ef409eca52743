// SPDX-License-Identifier: Apache-2.0

#include "src/cli/rank_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>

#include "algorithms/catalogue/layout.h"
#include "algorithms/catalogue/switch_levels.h"
#include "topology/formats/hostlist.h"
#include "topology/model/derive.h"

namespace weir::cli {
namespace {

using algorithms::Switches;
using topology::Graph;
using topology::Index;

constexpr size_t kLongestLabel = 63;  // of a value in Kubernetes

/// Neighbours in a ring whose numbers differ.
int differences(const std::vector<int>& ring) {
  int count = 0;
  for (size_t p = 0; p < ring.size(); ++p) count += ring[p] != ring[(p + 1) % ring.size()] ? 1 : 0;
  return count;
}

/// The text as a value of a label: letters, digits, '-', '_' and '.', with a letter or a digit at both ends.
std::string label_value(std::string text) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (char& c : text)
    if (!plain(c) && c != '-' && c != '_' && c != '.') c = '-';
  text.resize(std::min(text.size(), kLongestLabel));
  const auto first = std::find_if(text.begin(), text.end(), plain);
  const auto last = std::find_if(text.rbegin(), std::make_reverse_iterator(first), plain).base();
  return {first, last};
}

/// The group of each host on one level: the switches above it.
using Level = std::vector<Switches>;

/// The levels upwards from the leaves, as far as any host has switches above it.
std::vector<Level> levels_of(const Graph& graph, const std::vector<HostSlots>& hosts) {
  const algorithms::SwitchLevels fabric(graph);
  std::vector<Level> levels;
  Level at;
  for (const HostSlots& host : hosts) at.push_back({host.host});
  for (;;) {
    bool more = false;
    for (Switches& own : at) {
      own = fabric.above(own);
      more = more || !own.empty();
    }
    if (!more) return levels;
    levels.push_back(at);
  }
}

/// The label of each host's group: the name of the first switch, with a number where several groups would
/// have the same label; empty for hosts without switches.
std::vector<std::string> labels_of(const Graph& graph, const Level& level) {
  std::map<Switches, std::string> labels;
  std::map<std::string, int> uses;
  std::vector<std::string> all;
  for (const Switches& group : level) {
    auto [label, is_new] = labels.try_emplace(group);
    if (is_new && !group.empty()) {
      label->second = label_value(graph[*group.begin()].name);
      if (label->second.empty()) label->second = "switch";
      if (const int others = uses[label->second]++; others > 0) {
        const std::string number = fmt::format("-{}", others);
        label->second.resize(std::min(label->second.size(), kLongestLabel - number.size()));
        label->second += number;
      }
    }
    all.push_back(label->second);
  }
  return all;
}

std::string kubernetes_text(const Graph& graph, const RankOrder& order) {
  std::vector<std::vector<std::string>> labels;
  for (const Level& level : levels_of(graph, order.hosts)) labels.push_back(labels_of(graph, level));
  std::string text;
  for (size_t h = 0; h < order.hosts.size(); ++h) {
    text += fmt::format("kubectl label --overwrite node {}", graph[order.hosts[h].host].name);
    for (size_t level = 0; level < labels.size(); ++level)
      if (!labels[level][h].empty()) text += fmt::format(" weir.io/l{}={}", level + 1, labels[level][h]);
    text += fmt::format(" weir.io/order={}\n", h);
  }
  return text;
}

}  // namespace

RankOrder order_ranks(const Graph& graph, std::span<const Index> hosts) {
  const std::vector<int> groups = topology::groups_by_leaf(topology::leaves(graph), hosts);
  const algorithms::Layout layout = algorithms::layout_of(graph, hosts);
  RankOrder result;
  result.ranks = static_cast<int>(hosts.size());
  std::vector<int> ordered;
  for (const Rank rank : layout.order) {
    const Index host = hosts[static_cast<size_t>(rank)];
    ordered.push_back(groups[static_cast<size_t>(rank)]);
    if (result.hosts.empty() || result.hosts.back().host != host) result.hosts.push_back({host, 0});
    ++result.hosts.back().slots;
  }
  result.leaf_groups = groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1;
  result.crossings = differences(ordered);
  result.given_crossings = differences(groups);
  return result;
}

Result<std::string> order_text(const Graph& graph, const RankOrder& order, const std::string& format) {
  for (const HostSlots& host : order.hosts) {
    const std::string& name = graph[host.host].name;
    if (!topology::is_plain_name(name) || name.front() == '-')
      return Status(Code::invalid_argument,
                    fmt::format("host \"{}\" cannot be written to a file for a launcher; expected a name "
                                "without blanks and any of , [ ] # = : \" \\",
                                name));
  }
  if (format == "kubernetes") return kubernetes_text(graph, order);
  std::string text;
  int rank = 0;
  for (const HostSlots& host : order.hosts) {
    const std::string& name = graph[host.host].name;
    if (format == "hostfile") text += fmt::format("{} slots={}\n", name, host.slots);
    if (format == "mpich") text += fmt::format("{}:{}\n", name, host.slots);
    for (int slot = 0; slot < host.slots; ++slot, ++rank) {
      if (format == "openmpi-rankfile") text += fmt::format("rank {}={} slot={}\n", rank, name, slot);
      if (format == "slurm") text += name + "\n";
    }
  }
  return text;
}

}  // namespace weir::cli
