// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/ibnetdiscover.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "topology/formats/listing.h"

namespace weir::topology {
namespace {

using ib::kNode;

uint64_t port_key(size_t node, int port) {
  return (static_cast<uint64_t>(node) << 8) | static_cast<uint64_t>(port);
}

/// A text like "S-2c5eab0300b87b40".
std::string label(IbKind kind, uint64_t guid) {
  return fmt::format("{}-{:016x}", "SHR"[static_cast<int>(kind)], guid);
}

class CableCheck {
 public:
  CableCheck(const IbFabric& fabric, const ib::RefuseAt& refuse) : fabric_(fabric), refuse_(refuse) {}

  Status run() {
    WEIR_TRY(index());
    for (size_t node = 0; node < fabric_.nodes.size(); ++node) {
      for (size_t port = 0; port < fabric_.nodes[node].ports.size(); ++port) WEIR_TRY(check_peer(node, port));
    }
    return {};
  }

 private:
  Status index() {
    for (size_t n = 0; n < fabric_.nodes.size(); ++n) {
      const IbNode& node = fabric_.nodes[n];
      if (!nodes_.emplace(node.guid, n).second) {
        return refuse_(n, kNode, fmt::format("node {} is listed twice", label(node.kind, node.guid)));
      }
      for (size_t p = 0; p < node.ports.size(); ++p) {
        const int number = node.ports[p].number;
        if (number < 1 || number > node.port_count || node.port_count > 255) {
          return refuse_(n, p, fmt::format("port {} of a node with {} ports", number, node.port_count));
        }
        if (!ports_.emplace(port_key(n, number), p).second) {
          return refuse_(n, p,
                         fmt::format("port {} of {} has two cables", number, label(node.kind, node.guid)));
        }
      }
    }
    return {};
  }

  Status check_peer(size_t n, size_t p) const {
    const IbNode& node = fabric_.nodes[n];
    const IbPort& port = node.ports[p];
    const auto peer = nodes_.find(port.peer);
    if (peer == nodes_.end() && ib::is_aggregation_node(port.peer_kind, port.peer_description)) return {};
    if (peer == nodes_.end() || fabric_.nodes[peer->second].kind != port.peer_kind) {
      return refuse_(n, p,
                     fmt::format("port {} leads to {}, which is not listed", port.number,
                                 label(port.peer_kind, port.peer)));
    }
    const auto back = ports_.find(port_key(peer->second, port.peer_number));
    if (port.peer_number < 0 || port.peer_number > 255 || back == ports_.end()) {
      return refuse_(n, p,
                     fmt::format("port {} leads to port {} of {}, which lists no cable there", port.number,
                                 port.peer_number, label(port.peer_kind, port.peer)));
    }
    const IbPort& other = fabric_.nodes[peer->second].ports[back->second];
    const bool itself = peer->second == n && other.number == port.number;
    if (other.peer != node.guid || other.peer_number != port.number || itself) {
      return refuse_(n, p,
                     fmt::format("port {} leads to port {} of {}, but that port leads to port {} of {}",
                                 port.number, port.peer_number, label(port.peer_kind, port.peer),
                                 other.peer_number, label(other.peer_kind, other.peer)));
    }
    return {};
  }

  const IbFabric& fabric_;
  const ib::RefuseAt& refuse_;
  std::unordered_map<uint64_t, size_t> nodes_;
  std::unordered_map<uint64_t, size_t> ports_;
};

/// Whether the first line that is not a comment has the per-port form.
bool has_ports_form(std::string_view text) {
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = trim(line);
    if (!line.empty() && !line.starts_with('#'))
      return line.starts_with("CA ") || line.starts_with("SW ") || line.starts_with("RT ");
  }
  return false;
}

std::string external(int number) { return number == 0 ? "" : fmt::format("[ext {}]", number); }

void write_port(const IbNode& node, const IbPort& port, std::string& text) {
  const bool of_switch = node.kind == IbKind::fabric_switch;
  text += fmt::format("[{}]{}", port.number, external(port.external));
  if (port.guid != 0) text += fmt::format("({:x}) ", port.guid);
  text += fmt::format("\t\"{}\"[{}]{}", label(port.peer_kind, port.peer), port.peer_number,
                      external(port.peer_external));
  if (port.peer_guid != 0) text += fmt::format("{}({:x}) ", of_switch ? "" : " ", port.peer_guid);
  text += "\t\t# ";
  if (!of_switch) text += fmt::format("lid {} lmc {} ", port.lid, port.lmc);
  text += fmt::format("\"{}\" lid {} ", port.peer_description, port.peer_lid);
  text += port.width == 0 ? "??" : fmt::format("{}x", port.width);
  text += fmt::format("{}{}{}\n", name(port.speed), port.attributes.empty() ? "" : " ", port.attributes);
}

void write_node(const IbNode& node, std::string& text) {
  text += fmt::format("\nvendid=0x{:x}\ndevid=0x{:x}\n", node.vendor, node.device);
  if (node.system_guid != 0) text += fmt::format("sysimgguid=0x{:x}\n", node.system_guid);
  const std::string own = label(node.kind, node.guid);
  if (node.kind == IbKind::fabric_switch) {
    text += fmt::format("switchguid=0x{:x}({:x})\nSwitch\t{} \"{}\"\t\t# \"{}\" {} port 0 lid {} lmc {}\n",
                        node.guid, node.port_guid, node.port_count, own, node.description,
                        node.enhanced_port_0 ? "enhanced" : "base", node.lid, node.lmc);
  } else {
    const bool router = node.kind == IbKind::router;
    text += fmt::format("{}guid=0x{:x}\n{}\t{} \"{}\"\t\t# \"{}\"\n", router ? "rt" : "ca", node.guid,
                        router ? "Rt" : "Ca", node.port_count, own, node.description);
  }
  for (const IbPort& port : node.ports) write_port(node, port, text);
}

}  // namespace

bool ib::is_aggregation_node(IbKind kind, std::string_view description) {
  return kind == IbKind::adapter && description.ends_with("Aggregation Node");
}

Status ib::check(const IbFabric& fabric, const RefuseAt& refuse) { return CableCheck(fabric, refuse).run(); }

Result<IbFabric> read_ibnetdiscover(const Source& source, Notes* notes) {
  WEIR_TRY(check_text(source));
  ib::Places places;
  auto fabric = has_ports_form(source.text) ? ib::read_ports(source, notes, places)
                                            : ib::read_full(source, notes, places);
  WEIR_TRY(fabric.status());
  if (fabric->nodes.empty())
    return refuse(source, 1, "the file lists no node; expected what ibnetdiscover prints");
  WEIR_TRY(ib::check(*fabric, [&](size_t node, size_t port, const std::string& sentence) {
    return refuse(source, port == kNode ? places.nodes[node] : places.ports[node][port], sentence);
  }));
  return fabric;
}

std::string write_ibnetdiscover(const IbFabric& fabric) {
  std::string text = "#\n# Topology file: written by weir\n#\n";
  for (const IbNode& node : fabric.nodes) write_node(node, text);
  return text;
}

}  // namespace weir::topology
