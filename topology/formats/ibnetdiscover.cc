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

}  // namespace weir::topology
