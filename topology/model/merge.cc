// SPDX-License-Identifier: Apache-2.0

#include "topology/model/merge.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "topology/model/merge_facts.h"

namespace weir::topology {
namespace {

/// Builds the merged graph part by part.
class Merger {
 public:
  Status add(const Graph& part) {
    place_.assign(static_cast<size_t>(part.size()), kNone);
    earlier_ = merged_.size();
    note_port_names(part);
    find_by_guid(part);
    for (Index node = 0; node < part.size(); ++node) WEIR_TRY(add_node(part, node));
    return add_links(part);
  }
  Graph take() { return std::move(merged_); }

 private:
  /// Network libraries name a NIC after its port.
  void note_port_names(const Graph& part) {
    port_names_.clear();
    for (Index node = 0; node < part.size(); ++node) {
      if (part[node].kind() == NodeKind::port) port_names_.emplace(part[node].parent, part[node].name);
    }
  }

  /// Whether both identities are known and different: machines started from one image look alike, and
  /// simulated hosts share the properties of the real host.
  bool differ(const Graph& part, Index host, Index known) const {
    const auto* own = host == kNone ? nullptr : part.get<HostFacts>(host);
    const auto* other = known == kNone ? nullptr : merged_.get<HostFacts>(known);
    return own != nullptr && other != nullptr && own->identity != 0 && other->identity != 0 &&
           own->identity != other->identity;
  }

  /// Ports with a known GUID, and the nodes that contain them.
  void find_by_guid(const Graph& part) {
    for (Index node = 0; node < part.size(); ++node) {
      const auto* port = part.get<PortFacts>(node);
      if (port == nullptr || port->guid == 0) continue;
      const auto known = by_guid_.find(port->guid);
      if (known == by_guid_.end()) continue;
      Index there = known->second;
      if (differ(part, part.holder(node, NodeKind::host), merged_.holder(there, NodeKind::host))) continue;
      for (Index here = node; here != kNone; here = part[here].parent) {
        if (part[here].kind() == NodeKind::host) there = merged_.holder(there, NodeKind::host);
        if (there == kNone || merged_[there].kind() != part[here].kind()) break;
        place_[static_cast<size_t>(here)] = there;
        there = merged_[there].parent;
      }
    }
    // A host is identified by its first port, also if its NICs have other names there.
    for (Index node = 0; node < part.size(); ++node) {
      const Index found = place_[static_cast<size_t>(node)];
      const Index host = part.holder(node, NodeKind::host);
      if (found != kNone && host != kNone && place_[static_cast<size_t>(host)] == kNone)
        place_[static_cast<size_t>(host)] = merged_.holder(found, NodeKind::host);
    }
  }

  /// The keys by which a node is recognised, the most reliable first; empty ones are ignored.
  std::vector<std::string> keys(const Graph& part, Index node) const {
    const Node& own = part[node];
    std::vector<std::string> found;
    const auto kind = static_cast<int>(own.kind());
    if (const auto* host = part.get<HostFacts>(node); host != nullptr && host->identity != 0)
      found.push_back(fmt::format("identity {}", host->identity));
    if (const auto* fabric = part.get<FabricSwitchFacts>(node); fabric != nullptr && fabric->guid != 0)
      found.push_back(fmt::format("switch {}", fabric->guid));
    const Index parent = own.parent == kNone ? kNone : place_[static_cast<size_t>(own.parent)];
    const Index host = parent == kNone ? kNone : merged_.holder(parent, NodeKind::host);
    if (const PciFacts* pci = pci_of(own); pci != nullptr && !pci->address.empty())
      found.push_back(fmt::format("pci {} {} {}", host, kind, pci->address));
    if (const auto* numa = part.get<NumaFacts>(node); numa != nullptr && numa->number >= 0)
      found.push_back(fmt::format("numa {} {}", host, numa->number));
    found.push_back(fmt::format("name {} {} {}", kind, parent, own.name));
    if (own.kind() == NodeKind::nic) {
      found.push_back(fmt::format("nic {} {}", host, own.name));
      const auto [first, last] = port_names_.equal_range(node);
      for (auto at = first; at != last; ++at) found.push_back(fmt::format("nic {} {}", host, at->second));
    }
    if (const auto* port = part.get<PortFacts>(node))
      found.push_back(fmt::format("port {} {}", parent, port->number));
    return found;
  }

  Status add_node(const Graph& part, Index node) {
    Index& place = place_[static_cast<size_t>(node)];
    const std::vector<std::string> own_keys = keys(part, node);
    for (const std::string& key : own_keys) {
      if (place != kNone) break;
      const auto known = by_key_.find(key);
      if (known != by_key_.end() && known->second < earlier_ &&
          merged_[known->second].kind() == part[node].kind() && !differ(part, node, known->second))
        place = known->second;
    }
    if (place == kNone) {
      Node copy = part[node];
      if (copy.parent != kNone) copy.parent = place_[static_cast<size_t>(copy.parent)];
      place = merged_.add(std::move(copy));
    } else {
      WEIR_TRY(fill(merged_[place].facts, part[node].facts, merged_.describe(place)));
    }
    for (const std::string& key : own_keys) by_key_.emplace(key, place);
    if (const auto* port = merged_.get<PortFacts>(place); port != nullptr && port->guid != 0)
      by_guid_.emplace(port->guid, place);
    return {};
  }

  static uint64_t key(const Link& link) {
    return static_cast<uint64_t>(link.kind) << 60 | static_cast<uint64_t>(link.from) << 30 |
           static_cast<uint64_t>(link.to);
  }

  struct Known {
    int64_t count = 0;
    size_t first = 0;  ///< first index in merged_.links()
  };

  /// Links between two nodes that an earlier part contained are the same links.
  Status add_links(const Graph& part) {
    std::unordered_map<uint64_t, Known> here;
    std::vector<Link> links = part.links();
    for (Link& link : links) {
      link.from = place_[static_cast<size_t>(link.from)];
      link.to = place_[static_cast<size_t>(link.to)];
      here[key(link)].count += link.count;
    }
    for (const Link& link : links) {
      const auto earlier = known_.find(key(link));
      Known& own = here[key(link)];
      if (earlier == known_.end()) {
        if (own.first == 0) own.first = merged_.links().size();
        merged_.add(link);
      } else if (earlier->second.count != own.count) {
        return {Code::invalid_argument,
                fmt::format("two descriptions contradict each other: {} and {} {} links from {} to {}",
                            earlier->second.count, own.count, name(link.kind), merged_.describe(link.from),
                            merged_.describe(link.to))};
      } else if (Link& known = merged_.links()[earlier->second.first]; known.gb_per_s == 0) {
        known.gb_per_s = link.gb_per_s;
      }
    }
    known_.merge(here);
    return {};
  }

  Graph merged_;
  Index earlier_ = 0;                                       ///< number of nodes from earlier parts
  std::vector<Index> place_;                                ///< index: node of this part; value: in merged_
  std::unordered_multimap<Index, std::string> port_names_;  ///< key: NIC of the current part
  std::unordered_map<std::string, Index> by_key_;
  std::unordered_map<uint64_t, Index> by_guid_;
  std::unordered_map<uint64_t, Known> known_;  ///< links; key: ends and kind
};

}  // namespace

Result<Graph> merge(std::span<const Graph> parts) {
  Merger merger;
  for (const Graph& part : parts) WEIR_TRY(merger.add(part));
  return merger.take();
}

}  // namespace weir::topology
