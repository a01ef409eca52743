// SPDX-License-Identifier: Apache-2.0

#include "topology/model/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace weir::topology {
namespace {

Status wrong(const std::string& sentence) { return {Code::invalid_argument, "the topology " + sentence}; }

constexpr unsigned bit(NodeKind kind) { return 1u << static_cast<unsigned>(kind); }

/// The kinds that may contain a node of `kind`; 0 means none, which is allowed only for hosts, switches of
/// networks and NVSwitches of several hosts.
unsigned holders(NodeKind kind) {
  constexpr unsigned kInside =
      bit(NodeKind::host) | bit(NodeKind::package) | bit(NodeKind::numa) | bit(NodeKind::bridge);
  switch (kind) {
    case NodeKind::host:
    case NodeKind::fabric_switch: return 0;
    case NodeKind::package: return bit(NodeKind::host);
    case NodeKind::numa: return bit(NodeKind::host) | bit(NodeKind::package);
    case NodeKind::partition: return bit(NodeKind::gpu);
    case NodeKind::port: return bit(NodeKind::nic);
    default: return kInside;
  }
}

bool needs_holder(NodeKind kind) {
  return kind != NodeKind::host && kind != NodeKind::fabric_switch && kind != NodeKind::nvswitch;
}

bool may_join(LinkKind link, NodeKind a, NodeKind b) {
  const unsigned ends = bit(a) | bit(b);
  const auto within = [&](unsigned kinds) { return (ends & ~kinds) == 0; };
  // Some descriptions know which hosts a switch connects, but not what the hosts contain.
  constexpr unsigned kWholeHost = bit(NodeKind::host) | bit(NodeKind::fabric_switch);
  constexpr unsigned kGpu = bit(NodeKind::gpu) | bit(NodeKind::partition);
  switch (link) {
    case LinkKind::pci:
      return within(bit(NodeKind::numa) | bit(NodeKind::bridge) | bit(NodeKind::gpu) | bit(NodeKind::nic) |
                    bit(NodeKind::nvswitch));
    case LinkKind::cpu: return within(bit(NodeKind::numa));
    case LinkKind::nvlink:
      return within(kGpu | bit(NodeKind::nvswitch) | bit(NodeKind::numa)) || ends == kWholeHost;
    case LinkKind::xgmi: return within(kGpu);
    case LinkKind::c2c: return within(kGpu | bit(NodeKind::numa)) && (ends & kGpu) != 0;
    case LinkKind::inner:
      return within(kGpu) || within(bit(NodeKind::nic) | bit(NodeKind::port)) ||
             ends == (bit(NodeKind::host) | bit(NodeKind::nic));
    case LinkKind::cable:
      return within(bit(NodeKind::port) | bit(NodeKind::nic) | bit(NodeKind::fabric_switch)) ||
             ends == kWholeHost;
  }
  return false;
}

class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph) {}

  Status run() {
    seen_.reserve(2 * graph_.nodes().size());
    for (Index node = 0; node < graph_.size(); ++node) {
      WEIR_TRY(check_place(node));
      WEIR_TRY(check_names(node));
    }
    for (const Link& link : graph_.links()) WEIR_TRY(check_link(link));
    return check_reverses();
  }

 private:
  Status check_place(Index node) {
    const Node& own = graph_[node];
    if (own.parent == kNone) {
      return needs_holder(own.kind()) ? wrong(fmt::format("has {} without a parent", graph_.describe(node)))
                                      : Status();
    }
    if (own.parent < 0 || own.parent >= node) {
      return wrong(fmt::format("lists node {} before its parent, or its parent does not exist", node));
    }
    if ((holders(own.kind()) & bit(graph_[own.parent].kind())) == 0) {
      return wrong(fmt::format("has {} in a {}", graph_.describe(node), name(graph_[own.parent].kind())));
    }
    return {};
  }

  /// Checks that each key occurs once.
  Status once(Index node, std::string key, const std::string& what) {
    if (seen_.insert(std::move(key)).second) return {};
    return wrong(fmt::format("has two nodes with the {}: {}", what, graph_.describe(node)));
  }

  Status check_names(Index node) {
    const Node& own = graph_[node];
    const Index host = host_of(node);
    WEIR_TRY(once(node, fmt::format("n{}/{}/{}", own.parent, static_cast<int>(own.kind()), own.name),
                  "same name"));
    const PciFacts* pci = pci_of(own);
    if (pci != nullptr && !pci->address.empty())
      WEIR_TRY(once(node, fmt::format("p{}/{}/{}", host, static_cast<int>(own.kind()), pci->address),
                    "PCI address " + pci->address));
    const auto* gpu = graph_.get<GpuFacts>(node);
    if (gpu != nullptr && gpu->device >= 0)
      WEIR_TRY(once(node, fmt::format("d{}/{}/{}", host, gpu->pci.vendor, gpu->device),
                    fmt::format("GPU number {}", gpu->device)));
    if (gpu != nullptr && gpu->rank >= 0)
      WEIR_TRY(once(node, fmt::format("r{}", gpu->rank), fmt::format("rank {}", gpu->rank)));
    if (const auto* numa = graph_.get<NumaFacts>(node); numa != nullptr && numa->number >= 0)
      WEIR_TRY(
          once(node, fmt::format("m{}/{}", host, numa->number), fmt::format("NUMA number {}", numa->number)));
    if (const auto* fabric = graph_.get<FabricSwitchFacts>(node); fabric != nullptr) {
      if (fabric->level < 0) return wrong(fmt::format("has {} with a negative level", graph_.describe(node)));
      if (fabric->guid != 0)
        WEIR_TRY(once(node, fmt::format("g{}", fabric->guid), fmt::format("GUID {:#x}", fabric->guid)));
    }
    return {};
  }

  Index host_of(Index node) {
    hosts_.resize(static_cast<size_t>(graph_.size()), kNone);
    const Index parent = graph_[node].parent;
    hosts_[static_cast<size_t>(node)] = graph_[node].kind() == NodeKind::host ? node
                                        : parent == kNone                     ? kNone
                                                          : hosts_[static_cast<size_t>(parent)];
    return hosts_[static_cast<size_t>(node)];
  }

  Status check_link(const Link& link) {
    const auto is_node = [&](Index node) { return node >= 0 && node < graph_.size(); };
    if (!is_node(link.from) || !is_node(link.to) || link.from == link.to)
      return wrong(fmt::format("has a link from node {} to node {}", link.from, link.to));
    const auto say = [&](const char* what) {
      return wrong(fmt::format("has a {} link between {} and {} {}", name(link.kind),
                               graph_.describe(link.from), graph_.describe(link.to), what));
    };
    if (!may_join(link.kind, graph_[link.from].kind(), graph_[link.to].kind()))
      return say("which it cannot connect");
    if (link.count < 1) return say("with a count below 1");
    if (!std::isfinite(link.gb_per_s) || link.gb_per_s < 0)
      return say("with a bandwidth that is negative or not a number");
    if (!std::isfinite(link.latency_us) || link.latency_us < 0)
      return say("with a latency that is negative or not a number");
    const auto* a = graph_.get<FabricSwitchFacts>(link.from);
    const auto* b = graph_.get<FabricSwitchFacts>(link.to);
    if (a != nullptr && b != nullptr && a->level > 0 && b->level > 0 && std::abs(a->level - b->level) > 1)
      return say("that leaves out a level");
    return {};
  }

  /// The two ends and the kind in one word; a graph has far fewer than 2^30 nodes.
  static uint64_t key(const Link& link) {
    const auto low = static_cast<uint64_t>(std::min(link.from, link.to));
    const auto high = static_cast<uint64_t>(std::max(link.from, link.to));
    return static_cast<uint64_t>(link.kind) << 60 | low << 30 | high;
  }

  /// Sums the counts per direction; both sums must be equal.
  Status check_reverses() {
    std::unordered_map<uint64_t, std::array<int64_t, 2>> counts;
    counts.reserve(graph_.links().size() / 2);
    for (const Link& link : graph_.links()) counts[key(link)][link.from < link.to ? 0 : 1] += link.count;
    for (const Link& link : graph_.links()) {
      const auto& both = counts[key(link)];
      const size_t way = link.from < link.to ? 0 : 1;
      if (both[way] != both[1 - way]) {
        return wrong(fmt::format("has {} {} links from {} to {} and {} back", both[way], name(link.kind),
                                 graph_.describe(link.from), graph_.describe(link.to), both[1 - way]));
      }
    }
    return {};
  }

  const Graph& graph_;
  std::unordered_set<std::string> seen_;
  std::vector<Index> hosts_;
};

}  // namespace

Status check(const Graph& graph) { return Checker(graph).run(); }

}  // namespace weir::topology
