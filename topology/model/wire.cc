// SPDX-License-Identifier: Apache-2.0

#include "topology/model/wire.h"

#include <fmt/format.h>

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/printable.h"
#include "topology/model/check.h"

namespace weir::topology {
namespace {

/// The fields of each kind of facts, once for both directions: `io(a, b, ...)` writes or reads them in order.
template <typename Io, typename T>
void fields(Io& io, T& facts) {
  using Kind = std::remove_const_t<T>;
  T& f = facts;
  if constexpr (std::is_same_v<Kind, PciFacts>) {
    io(f.address, f.class_code, f.vendor, f.device, f.subsystem_vendor, f.subsystem_device, f.gt_per_s,
       f.width, f.most_gt_per_s, f.most_width);
  } else if constexpr (std::is_same_v<Kind, CpuFacts>) {
    io(f.arch, f.vendor, f.family, f.model);
  } else if constexpr (std::is_same_v<Kind, HostFacts>) {
    io(f.identity, f.hypervisor);
  } else if constexpr (std::is_same_v<Kind, PackageFacts>) {
    io(f.number, f.cpu, f.model_name);
  } else if constexpr (std::is_same_v<Kind, NumaFacts>) {
    io(f.number, f.affinity, f.cpu, f.memory_bytes);
  } else if constexpr (std::is_same_v<Kind, BridgeFacts>) {
    io(f.root, f.pci, f.peers);
  } else if constexpr (std::is_same_v<Kind, GpuFacts>) {
    io(f.pci, f.device, f.rank, f.arch, f.units, f.features, f.gdr, f.package, f.uuid, f.model_name);
  } else if constexpr (std::is_same_v<Kind, PartitionFacts>) {
    io(f.number, f.profile, f.uuid);
  } else if constexpr (std::is_same_v<Kind, NvSwitchFacts>) {
    io(f.pci);
  } else if constexpr (std::is_same_v<Kind, NicFacts>) {
    io(f.pci, f.model_name);
  } else if constexpr (std::is_same_v<Kind, PortFacts>) {
    io(f.device, f.number, f.mbit_per_s, f.latency_us, f.guid, f.most_connections, f.gdr,
       f.in_network_reduction, f.layer, f.active, f.lid, f.rail, f.plane);
  } else if constexpr (std::is_same_v<Kind, FabricSwitchFacts>) {
    io(f.level, f.guid, f.ports);
  } else {
    static_assert(std::is_same_v<Kind, Link>);
    io(f.from, f.to, f.kind, f.count, f.gb_per_s, f.latency_us, f.rail);
  }
}

template <typename T>
constexpr bool kPlain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

struct Writing {
  ByteWriter& writer;

  template <typename... Values>
  void operator()(const Values&... values) {
    (one(values), ...);
  }
  template <typename T>
  void one(const T& value) {
    if constexpr (kPlain<T>) {
      writer.put(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      writer.put_string(value);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      writer.put(static_cast<uint32_t>(value.size()));
      for (const std::string& text : value) writer.put_string(text);
    } else {
      fields(*this, value);
    }
  }
};

struct Reading {
  ByteReader& reader;

  template <typename... Values>
  void operator()(Values&... values) {
    (one(values), ...);
  }
  template <typename T>
  void one(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = reader.get<uint8_t>() != 0;
    } else if constexpr (kPlain<T>) {
      value = reader.get<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = printable(reader.get_string());
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      for (size_t left = reader.count(sizeof(uint32_t)); left > 0 && reader.ok(); --left)
        value.push_back(reader.get_string());
    } else {
      fields(*this, value);
    }
  }
};

/// Default facts of the kind with that number.
template <size_t kind = 0>
Facts read_facts(Reading& io, size_t wanted) {
  if constexpr (kind + 1 < std::variant_size_v<Facts>) {
    if (kind != wanted) return read_facts<kind + 1>(io, wanted);
  }
  std::variant_alternative_t<kind, Facts> facts;
  io.one(facts);
  return facts;
}

Status not_a_graph(const std::string& why) {
  return {Code::internal_error, fmt::format("a peer sent an invalid topology: {}", why)};
}

bool sound(const Link& link, Index nodes) {
  const auto inside = [&](Index node) { return node >= 0 && node < nodes; };
  return inside(link.from) && inside(link.to) && static_cast<int>(link.kind) < kLinkKinds;
}

}  // namespace

void put_graph(ByteWriter& writer, const Graph& graph) {
  Writing io{writer};
  io(static_cast<uint32_t>(graph.nodes().size()), static_cast<uint32_t>(graph.links().size()));
  for (const Node& node : graph.nodes()) {
    io(static_cast<uint8_t>(node.facts.index()), node.name, node.parent);
    std::visit([&](const auto& facts) { io(facts); }, node.facts);
  }
  for (const Link& link : graph.links()) io(link);
}

Result<Graph> get_graph(ByteReader& reader) {
  Reading io{reader};
  const size_t nodes = reader.count(sizeof(uint8_t));
  const size_t links = reader.count(sizeof(uint8_t));
  Graph graph;
  for (size_t i = 0; i < nodes && reader.ok(); ++i) {
    uint8_t kind = 0;
    Node node;
    io(kind, node.name, node.parent);
    if (kind >= std::variant_size_v<Facts>)
      return not_a_graph(fmt::format("node {} has the unknown kind {}", i, kind));
    node.facts = read_facts(io, kind);
    if (const auto* port = std::get_if<PortFacts>(&node.facts);
        port != nullptr && port->layer > PortLayer::infiniband)
      return not_a_graph(fmt::format("port {} belongs to an unknown kind of network", i));
    if (node.parent < kNone || node.parent >= graph.size())
      return not_a_graph(fmt::format("node {} has the invalid parent {}", i, node.parent));
    graph.add(std::move(node));
  }
  for (size_t i = 0; i < links && reader.ok(); ++i) {
    Link link;
    io(link);
    if (!sound(link, graph.size())) return not_a_graph(fmt::format("link {} does not connect two nodes", i));
    graph.add(link);
  }
  if (!reader.ok()) return not_a_graph("it is truncated");
  if (const Status status = check(graph); !status.ok()) return not_a_graph(status.message());
  return graph;
}

}  // namespace weir::topology
