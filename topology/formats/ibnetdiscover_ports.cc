// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "topology/formats/ibnetdiscover.h"
#include "topology/formats/listing.h"

namespace weir::topology::ib {
namespace {

/// One end of a cable, such as `SW  1719 10 0x7cfe9003009ce5b0`.
struct End {
  IbKind kind = IbKind::fabric_switch;
  int lid = 0;
  int port = 0;
  uint64_t guid = 0;
  std::string description;
};

struct PortLine {
  End own;
  End peer;
  bool cabled = false;
  int width = 0;
  InfinibandSpeed speed = InfinibandSpeed::unknown;
};

bool take_end(Cursor& line, End& end) {
  line.blanks();
  if (line.take("SW "))
    end.kind = IbKind::fabric_switch;
  else if (line.take("CA "))
    end.kind = IbKind::adapter;
  else if (line.take("RT "))
    end.kind = IbKind::router;
  else
    return line.miss("SW, CA or RT");
  line.blanks();
  if (!line.number("a lid", 0, 65535, end.lid) || !line.need_blank()) return false;
  return line.number("a port", 1, 255, end.port) && line.need_blank() &&
         line.hex("a GUID", kMostGuid, end.guid) && line.need_blank();
}

/// Takes "4x NDR".
bool take_speed(Cursor& line, PortLine& port) {
  if (!line.take("??") && !(line.number("lanes like 4x", 1, 12, port.width) && line.need("x"))) return false;
  const bool spaced = line.need_blank();
  const Cursor before = line;
  std::string_view word;
  if (!spaced || !line.word("a speed like NDR", word)) return false;
  if (parse_infiniband_speed(word, port.speed)) return true;
  line = before;
  return line.miss("a speed from SDR to XDR, or ???");
}

/// Takes `( 'node1 mlx5_5' - 'leaf4' )`.
bool take_descriptions(Cursor& line, PortLine& port) {
  constexpr std::string_view kBetween = "' - '";
  line.blanks();
  std::string_view rest = line.rest();
  const size_t between = rest.find(kBetween);
  if (!rest.starts_with("( '") || !rest.ends_with("' )") || between == std::string_view::npos ||
      between < 3 || between + kBetween.size() + 3 > rest.size() ||
      rest.find(kBetween, between + 1) != std::string_view::npos || !is_printable(rest)) {
    return line.miss("two descriptions like ( 'node1 mlx5_5' - 'leaf4' )");
  }
  port.own.description = rest.substr(3, between - 3);
  rest = rest.substr(between + kBetween.size());
  port.peer.description = rest.substr(0, rest.size() - 3);
  return true;
}

bool take_line(Cursor& line, PortLine& port) {
  if (!take_end(line, port.own) || !take_speed(line, port)) return false;
  line.blanks();
  port.cabled = line.take("- ");
  // Without a cable only the description follows, in old releases without quotes.
  if (!port.cabled) return is_printable(line.rest()) || line.miss("a description");
  return take_end(line, port.peer) && take_descriptions(line, port);
}

std::string unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '\'' && text.back() == '\'';
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

class PortsReader {
 public:
  PortsReader(const Source& source, Notes* notes, Places& places)
      : source_(source), notes_(notes), places_(places), text_(source.text) {}

  Result<IbFabric> run() {
    for (std::string_view line; text_.next(line);) {
      line = trim(line);
      if (line.empty() || line.starts_with('#')) continue;
      Cursor cursor(line);
      PortLine port;
      if (!take_line(cursor, port)) return refuse(source_, text_.number(), cursor.complaint());
      if (!port.cabled) port.own.description = unquoted(cursor.rest());
      WEIR_TRY(add(port));
      if (++items_ > kMostNodes) return wrong(fmt::format("the file lists more than {} ports", kMostNodes));
    }
    WEIR_TRY(join());
    return std::move(fabric_);
  }

 private:
  Status wrong(const std::string& sentence) const { return refuse(source_, text_.number(), sentence); }

  Status add(const PortLine& line) {
    size_t at = 0;
    WEIR_TRY(node_of(line.own, at));
    IbNode& node = fabric_.nodes[at];
    node.port_count = std::max(node.port_count, line.own.port);
    if (!line.cabled) return {};
    IbPort port;
    port.number = line.own.port;
    if (node.kind != IbKind::fabric_switch) {
      port.guid = line.own.guid;
      port.lid = line.own.lid;
    }
    port.peer_kind = line.peer.kind;
    port.peer = line.peer.guid;  // replaced by the node's GUID when all nodes are known
    port.peer_number = line.peer.port;
    if (line.peer.kind != IbKind::fabric_switch) port.peer_guid = line.peer.guid;
    port.peer_description = line.peer.description;
    port.peer_lid = line.peer.lid;
    port.width = line.width;
    port.speed = line.speed;
    node.ports.push_back(std::move(port));
    places_.ports[at].push_back(text_.number());
    return {};
  }

  /// All ports of a switch have its GUID; ports of an adapter have one GUID each and are consecutive, the
  /// highest first.
  Status node_of(const End& end, size_t& at) {
    const bool of_switch = end.kind == IbKind::fabric_switch;
    const bool next_of_adapter =
        !of_switch && !fabric_.nodes.empty() && fabric_.nodes.back().kind == end.kind &&
        fabric_.nodes.back().description == end.description && end.port == last_port_ - 1;
    last_port_ = of_switch ? 0 : end.port;
    const auto known = nodes_.find(end.guid);
    if (known != nodes_.end()) {
      at = known->second;
      const IbNode& node = fabric_.nodes[at];
      if (!of_switch || node.kind != end.kind)
        return wrong(fmt::format("GUID {:x} is listed twice", end.guid));
      if (node.description != end.description || node.lid != end.lid) {
        return wrong(fmt::format("switch {:x} was lid {} {} on line {}; here it is lid {} {}", end.guid,
                                 node.lid, shown(node.description), places_.nodes[at], end.lid,
                                 shown(end.description)));
      }
      return {};
    }
    at = next_of_adapter ? fabric_.nodes.size() - 1 : fabric_.nodes.size();
    nodes_.emplace(end.guid, at);
    if (!next_of_adapter) begin_node(end);
    return {};
  }

  void begin_node(const End& end) {
    places_.nodes.push_back(text_.number());
    places_.ports.emplace_back();
    IbNode& node = fabric_.nodes.emplace_back();
    node.kind = end.kind;
    node.guid = end.guid;
    node.description = end.description;
    if (end.kind == IbKind::fabric_switch) {
      node.port_guid = end.guid;
      node.lid = end.lid;
    }
  }

  /// Replaces GUIDs of ports by those of nodes, with ports in ascending order as in the full form.
  Status join() {
    for (size_t n = 0; n < fabric_.nodes.size(); ++n) {
      std::vector<IbPort>& ports = fabric_.nodes[n].ports;
      std::vector<std::pair<IbPort, size_t>> kept;
      for (size_t p = 0; p < ports.size(); ++p) {
        IbPort& port = ports[p];
        const size_t line = places_.ports[n][p];
        const auto peer = nodes_.find(port.peer);
        if (peer == nodes_.end()) {
          WEIR_TRY(
              leave_out_line(source_, line, notes_,
                             fmt::format("the cable of port {} is ignored: {} at its other end has no line",
                                         port.number, shown(port.peer_description))));
          continue;
        }
        port.peer = fabric_.nodes[peer->second].guid;
        kept.emplace_back(std::move(port), line);
      }
      std::stable_sort(kept.begin(), kept.end(),
                       [](const auto& a, const auto& b) { return a.first.number < b.first.number; });
      ports.clear();
      places_.ports[n].clear();
      for (auto& [port, line] : kept) {
        ports.push_back(std::move(port));
        places_.ports[n].push_back(line);
      }
    }
    return {};
  }

  const Source& source_;
  Notes* notes_;
  Places& places_;
  Lines text_;
  IbFabric fabric_;
  std::unordered_map<uint64_t, size_t> nodes_;  ///< index in nodes; key: GUID of a port
  int last_port_ = 0;
  size_t items_ = 0;
};

}  // namespace

Result<IbFabric> read_ports(const Source& source, Notes* notes, Places& places) {
  return PortsReader(source, notes, places).run();
}

}  // namespace weir::topology::ib
