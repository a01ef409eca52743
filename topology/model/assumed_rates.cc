// SPDX-License-Identifier: Apache-2.0

#include "topology/model/assumed_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "topology/model/device_rates.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

constexpr double kMostGbPerS = 1e6;

struct Choice {
  std::string_view name;
  double AssumedRates::*rate;
};

constexpr std::array<Choice, 7> kChoices = {{{"nvlink", &AssumedRates::nvlink},
                                             {"xgmi", &AssumedRates::xgmi},
                                             {"c2c", &AssumedRates::c2c},
                                             {"pcie", &AssumedRates::pcie},
                                             {"cpu", &AssumedRates::cpu},
                                             {"nic", &AssumedRates::nic},
                                             {"network", &AssumedRates::network}}};

bool unknown(const Link& link) { return link.gb_per_s <= 0; }

/// What is known about the GPUs of a host.
struct HostRates {
  std::string arch;        ///< of its first GPU with a known one
  int most_nvlinks = 0;    ///< of one GPU
  int most_xgmi = 0;       ///< of one GPU, counted in neighbours
  double fastest_nic = 0;  ///< GB/s of its fastest port
};

class Assumptions {
 public:
  Assumptions(Graph& graph, const AssumedRates& preferred) : graph_(graph), preferred_(preferred) {}

  std::string run() {
    const auto& links = graph_.links();
    const bool hosts_are_ranks = graph_.all(NodeKind::gpu).empty();
    const bool missing = std::any_of(links.begin(), links.end(), unknown) || needs_network();
    if (!missing && !hosts_are_ranks) return {};
    find_hosts();
    if (hosts_are_ranks) add_links_of_hosts();
    if (needs_network()) add_network();
    for (Link& link : graph_.links()) {
      if (unknown(link) && !between_switches(link)) set(link);
    }
    set_uplinks();
    return said();
  }

 private:
  NodeKind kind(Index node) const { return graph_[node].kind(); }
  bool between_switches(const Link& link) const {
    return kind(link.from) == NodeKind::fabric_switch && kind(link.to) == NodeKind::fabric_switch;
  }
  /// The end of that kind, or kNone.
  Index end(const Link& link, NodeKind wanted) const {
    if (kind(link.from) == wanted) return link.from;
    return kind(link.to) == wanted ? link.to : kNone;
  }
  /// The end that is contained in the other one, or beside it.
  Index lower(const Link& link) const { return std::max(link.from, link.to); }

  void add_links_of_hosts();
  bool needs_network() const;
  void add_network();
  void find_hosts();
  const HostRates& host(const Link& link) const;
  void set(Link& link);
  NamedRate rate_of(const Link& link) const;
  NamedRate pcie(const Link& link) const;
  NamedRate nic(Index port, const HostRates& host) const;
  NamedRate cable(const Link& link) const;
  void set_uplinks();
  void say(size_t place, std::string sentence);
  std::string said() const;

  static NamedRate preferred_or(double preferred, NamedRate assumed) {
    return preferred > 0 ? NamedRate{preferred, "as given"} : assumed;
  }

  Graph& graph_;
  const AssumedRates& preferred_;
  std::vector<Index> host_of_;    ///< index: node
  std::vector<HostRates> hosts_;  ///< index: node that is a host, or 0 elements
  HostRates none_;
  std::array<std::vector<std::string>, kLinkKinds + 3> sentences_;
};

/// Places in sentences_ behind those of the kinds of links.
enum Place : size_t { port = kLinkKinds, uplink, network };

/// Connects hosts without links with those of their NICs that have cables.
void Assumptions::add_links_of_hosts() {
  std::vector<char> linked(static_cast<size_t>(graph_.size()));
  for (const Link& link : graph_.links()) linked[static_cast<size_t>(link.from)] = 1;
  std::set<std::pair<Index, Index>> added;
  for (const Link& link : graph_.links()) {
    const Index own = host_of_[static_cast<size_t>(link.from)];
    if (link.kind != LinkKind::cable || own == kNone || linked[static_cast<size_t>(own)] != 0) continue;
    if (kind(link.to) == NodeKind::fabric_switch) added.emplace(own, graph_.holder(link.from, NodeKind::nic));
  }
  for (const auto& [own, nic] : added) graph_.connect({.from = own, .to = nic, .kind = LinkKind::inner});
  if (!added.empty()) say(network, "hosts as fast as their NICs");
}

/// Blocks whose connection is missing.
bool Assumptions::needs_network() const {
  bool blocks = false;
  for (const Link& link : graph_.links()) {
    if (link.kind == LinkKind::cable) return false;
    blocks = blocks || (link.kind == LinkKind::nvlink && end(link, NodeKind::fabric_switch) != kNone);
  }
  return blocks && graph_.all(NodeKind::fabric_switch).size() > 1;
}

void Assumptions::add_network() {
  const Index joining = graph_.add("assumed network", kNone, FabricSwitchFacts{});
  for (const Index each : graph_.all(NodeKind::host))
    graph_.connect({.from = each, .to = joining, .kind = LinkKind::cable});
  host_of_.push_back(kNone);
  say(network, "a network that connects all blocks");
}

void Assumptions::find_hosts() {
  host_of_.assign(static_cast<size_t>(graph_.size()), kNone);
  hosts_.resize(static_cast<size_t>(graph_.size()));
  for (Index node = 0; node < graph_.size(); ++node) {
    const Index parent = graph_[node].parent;
    Index& own = host_of_[static_cast<size_t>(node)];
    own = kind(node) == NodeKind::host ? node
          : parent == kNone            ? kNone
                                       : host_of_[static_cast<size_t>(parent)];
    if (own == kNone) continue;
    HostRates& host = hosts_[static_cast<size_t>(own)];
    if (const auto* gpu = graph_.get<GpuFacts>(node); gpu != nullptr && host.arch.empty())
      host.arch = arch_of(*gpu);
    if (const auto* facts = graph_.get<PortFacts>(node); facts != nullptr)
      host.fastest_nic = std::max(host.fastest_nic, facts->mbit_per_s / 8000);
  }
  std::vector<std::array<int, 2>> counts(static_cast<size_t>(graph_.size()));
  for (const Link& link : graph_.links()) {
    if (kind(link.from) != NodeKind::gpu || host_of_[static_cast<size_t>(link.from)] == kNone) continue;
    HostRates& host = hosts_[static_cast<size_t>(host_of_[static_cast<size_t>(link.from)])];
    auto& [nvlinks, neighbours] = counts[static_cast<size_t>(link.from)];
    if (link.kind == LinkKind::nvlink) host.most_nvlinks = std::max(host.most_nvlinks, nvlinks += link.count);
    if (link.kind == LinkKind::xgmi) host.most_xgmi = std::max(host.most_xgmi, ++neighbours);
  }
  for (HostRates& host : hosts_) {
    if (!host.arch.empty()) continue;
    host.arch = arch_of_nvlinks(host.most_nvlinks);
    // Only the MI300 series and later ones connect each of eight GPUs with all others.
    if (host.most_xgmi == 7) host.arch = "gfx942";
  }
}

const HostRates& Assumptions::host(const Link& link) const {
  for (const Index end : {link.from, link.to}) {
    const Index own = host_of_[static_cast<size_t>(end)];
    if (own != kNone) return hosts_[static_cast<size_t>(own)];
  }
  return none_;
}

NamedRate Assumptions::pcie(const Link& link) const {
  constexpr double kGen5NicGbPerS = 40;  // 400 Gb/s need it
  const PciFacts* const pci = pci_of(graph_[lower(link)]);
  const int width = pci != nullptr && pci->width > 0 ? pci->width : 16;
  if (pci != nullptr && pci->gt_per_s > 0)
    return {pcie_gb_per_s(pci->gt_per_s, width), fmt::format("{:g} GT/s x{}", pci->gt_per_s, width)};
  const HostRates& own = host(link);
  int generation = pcie_generation(own.arch);
  if (generation == 0 && own.fastest_nic >= kGen5NicGbPerS) generation = 5;
  return assumed_pcie(generation);
}

NamedRate Assumptions::nic(Index port, const HostRates& host) const {
  if (port == kNone) return preferred_or(preferred_.nic, assumed_nic({}, {}, host.arch));
  if (const auto* facts = graph_.get<PortFacts>(port); facts != nullptr && facts->mbit_per_s > 0)
    return {facts->mbit_per_s / 8000, {}};
  const Index holder = graph_.holder(port, NodeKind::nic);
  const NicFacts* const facts = holder == kNone ? nullptr : graph_.get<NicFacts>(holder);
  return preferred_or(preferred_.nic,
                      assumed_nic(facts == nullptr ? NicFacts{} : *facts, graph_[port].name, host.arch));
}

/// A cable with one end that is no switch.
NamedRate Assumptions::cable(const Link& link) const {
  Index port = end(link, NodeKind::port);
  if (port == kNone) port = end(link, NodeKind::nic);
  return nic(port, host(link));
}

NamedRate Assumptions::rate_of(const Link& link) const {
  const HostRates& own = host(link);
  switch (link.kind) {
    case LinkKind::nvlink: {
      const bool block = end(link, NodeKind::fabric_switch) != kNone;
      NamedRate rate = preferred_or(preferred_.nvlink, assumed_nvlink(block ? "sm_100" : own.arch));
      const NamedRate all = assumed_block(rate.gb_per_s);
      return block ? all : NamedRate{rate.gb_per_s * link.count, rate.name};
    }
    case LinkKind::xgmi: {
      NamedRate rate = preferred_or(preferred_.xgmi, assumed_xgmi(own.arch));
      return {rate.gb_per_s * link.count, rate.name};
    }
    case LinkKind::c2c: return preferred_or(preferred_.c2c, assumed_c2c(own.arch));
    case LinkKind::pci: {
      const auto* bridge = graph_.get<BridgeFacts>(lower(link));
      const bool root = bridge != nullptr && bridge->root && bridge->pci.address.empty() &&
                        kind(std::min(link.from, link.to)) == NodeKind::numa;
      return root ? NamedRate{kInnerGbPerS, {}} : preferred_or(preferred_.pcie, pcie(link));
    }
    case LinkKind::cpu: {
      const Index numa = end(link, NodeKind::numa);
      return preferred_or(preferred_.cpu, assumed_between_numas(
                                              numa == kNone ? CpuFacts{} : graph_.get<NumaFacts>(numa)->cpu));
    }
    case LinkKind::inner: {
      const Index port = end(link, NodeKind::port);
      return port == kNone ? NamedRate{kInnerGbPerS, {}} : nic(port, own);
    }
    case LinkKind::cable: return cable(link);
  }
  return {};
}

void Assumptions::set(Link& link) {
  constexpr std::array<const char*, kLinkKinds> kForms = {"PCIe {:.3g} GB/s ({})",
                                                          "between NUMA nodes {:.3g} GB/s ({})",
                                                          "NVLink {:.3g} GB/s per link ({})",
                                                          "xGMI {:.3g} GB/s per link ({})",
                                                          "C2C {:.3g} GB/s ({})",
                                                          "NIC {:.3g} GB/s ({})",
                                                          "NIC {:.3g} GB/s ({})"};
  const NamedRate rate = rate_of(link);
  link.gb_per_s = rate.gb_per_s;
  if (rate.name.empty()) return;
  const auto place = static_cast<size_t>(link.kind);
  const bool block = link.kind == LinkKind::nvlink && end(link, NodeKind::fabric_switch) != kNone;
  const int links = link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi ? link.count : 1;
  std::string sentence = block ? fmt::format("NVLink {:.4g} GB/s per host ({})", rate.gb_per_s, rate.name)
                               : fmt::format(fmt::runtime(kForms[place]), rate.gb_per_s / links, rate.name);
  const bool of_nic = link.kind == LinkKind::inner || link.kind == LinkKind::cable;
  say(of_nic ? static_cast<size_t>(port) : place, std::move(sentence));
}

void Assumptions::say(size_t place, std::string sentence) {
  auto& list = sentences_[place];
  if (std::find(list.begin(), list.end(), sentence) == list.end()) list.push_back(std::move(sentence));
}

std::string Assumptions::said() const {
  constexpr std::array<size_t, kLinkKinds + 3> kOrder = {static_cast<size_t>(LinkKind::nvlink),
                                                         static_cast<size_t>(LinkKind::xgmi),
                                                         static_cast<size_t>(LinkKind::c2c),
                                                         static_cast<size_t>(LinkKind::pci),
                                                         static_cast<size_t>(LinkKind::cpu),
                                                         static_cast<size_t>(LinkKind::inner),
                                                         static_cast<size_t>(LinkKind::cable),
                                                         port,
                                                         uplink,
                                                         network};
  constexpr size_t kMostOfKind = 3;
  std::string text;
  for (const size_t place : kOrder) {
    const auto& list = sentences_[place];
    for (size_t i = 0; i < std::min(list.size(), kMostOfKind); ++i)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", list[i]);
    if (list.size() > kMostOfKind) text += fmt::format(" and {} more", list.size() - kMostOfKind);
  }
  return text;
}

/// Switches in the order of their distance from hosts: what arrives from below leaves in equal parts over the
/// cables to switches that are further away.
void Assumptions::set_uplinks() {
  const auto& links = graph_.links();
  const bool any = std::any_of(links.begin(), links.end(),
                               [&](const Link& link) { return unknown(link) && between_switches(link); });
  if (!any) return;
  const Adjacency adjacency(graph_);
  std::vector<int> distance(static_cast<size_t>(graph_.size()), -1);
  std::vector<Index> order;
  const auto reach = [&](Index node, int steps) {
    if (kind(node) != NodeKind::fabric_switch || distance[static_cast<size_t>(node)] >= 0) return;
    distance[static_cast<size_t>(node)] = steps;
    order.push_back(node);
  };
  for (const Link& link : links) {
    if (kind(link.from) != NodeKind::fabric_switch) reach(link.to, 1);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t each : adjacency.from(order[i]))
      reach(links[each].to, distance[static_cast<size_t>(order[i])] + 1);
  }
  for (const Index node : order) {
    double below = 0;
    int up = 0;
    const auto above = [&](const Link& link) {
      return between_switches(link) &&
             distance[static_cast<size_t>(link.to)] > distance[static_cast<size_t>(node)];
    };
    for (const uint32_t each : adjacency.from(node)) {
      if (!above(links[each])) below += links[each].kind == LinkKind::cable ? links[each].gb_per_s : 0;
      if (above(links[each])) up += links[each].count;
    }
    for (const uint32_t each : adjacency.from(node)) {
      Link& own = graph_.links()[each];
      if (!unknown(own) || !between_switches(own)) continue;
      const double assumed = above(own) ? below / up : below;
      const double rate = (preferred_.network > 0 ? preferred_.network : std::max(assumed, 1.0)) * own.count;
      own.gb_per_s = rate;
      for (const uint32_t back : adjacency.from(own.to)) {
        Link& reverse = graph_.links()[back];
        if (reverse.to == node && unknown(reverse)) reverse.gb_per_s = rate;
      }
    }
  }
  say(uplink, preferred_.network > 0
                  ? fmt::format("{:.3g} GB/s between switches (as given)", preferred_.network)
                  : "no oversubscription between switches");
}

}  // namespace

Result<AssumedRates> parse_assumed_rates(std::string_view text) {
  AssumedRates rates;
  for (const std::string_view part : split_list(text)) {
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    const auto choice = std::find_if(kChoices.begin(), kChoices.end(),
                                     [name](const Choice& each) { return each.name == name; });
    if (choice == kChoices.end() || equals == part.size()) {
      return Status(
          Code::invalid_argument,
          fmt::format("\"{}\" is no assumption; expected NAME=GB/s with the names nvlink, xgmi, c2c, "
                      "pcie, cpu, nic, network",
                      part.substr(0, 60)));
    }
    const std::string_view value = part.substr(equals + 1);
    double read = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
    if (error != std::errc() || end != value.data() + value.size() || !(read > 0) || read > kMostGbPerS) {
      return Status(Code::invalid_argument,
                    fmt::format("{} is \"{}\"; expected GB/s, a number above 0 and at most {:g}", name,
                                value.substr(0, 60), kMostGbPerS));
    }
    if (rates.*choice->rate > 0)
      return Status(Code::invalid_argument, fmt::format("{} occurs twice; expected it once", name));
    rates.*choice->rate = read;
  }
  return rates;
}

std::string assume_rates(Graph& graph, const AssumedRates& preferred) {
  return Assumptions(graph, preferred).run();
}

}  // namespace weir::topology
