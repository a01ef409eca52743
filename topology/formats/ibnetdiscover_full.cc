// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <limits>

#include "topology/formats/ibnetdiscover.h"
#include "topology/formats/listing.h"

namespace weir::topology::ib {
namespace {

constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
constexpr int kMostPorts = 255;
constexpr int kMostLid = 65535;
constexpr int kMostLmc = 7;

/// The lines before the line of a node.
struct Head {
  bool begun = false;
  bool vendor = false;
  bool device = false;
  bool system = false;
  bool guid = false;
  IbNode node;
};

bool take_kind(Cursor& line, IbKind& kind) {
  if (line.take("S-"))
    kind = IbKind::fabric_switch;
  else if (line.take("H-"))
    kind = IbKind::adapter;
  else if (line.take("R-"))
    kind = IbKind::router;
  else
    return line.miss("S-, H- or R- and a GUID");
  return true;
}

/// Takes `"S-2c5eab0300b87b40"`.
bool take_label(Cursor& line, IbKind& kind, uint64_t& guid) {
  return line.need("\"") && take_kind(line, kind) && line.hex("a GUID", kMostGuid, guid) && line.need("\"");
}

/// Takes `[3]`, and `[ext 7]` if present.
bool take_number(Cursor& line, int& number, int& external) {
  if (!line.need("[") || !line.number("a port", 1, kMostPorts, number) || !line.need("]")) return false;
  if (!line.take("[ext ")) return true;
  return line.number("a port of the chassis", 1, 9999, external) && line.need("]");
}

/// Takes `(e09d7303007a4bd8)` if present.
bool take_guid(Cursor& line, uint64_t& guid) {
  return !line.take("(") || (line.hex("the GUID of a port", kMostGuid, guid) && line.need(")"));
}

/// Takes "s=4 w=2 v=4 e=4", "slot 3", "(scp)": the words unchanged, separated by one blank.
bool take_attributes(Cursor& line, std::string& attributes) {
  while (true) {
    line.blanks();
    if (line.done()) return true;
    const Cursor before = line;
    std::string_view word;
    std::string_view slot;
    if (!line.word("an attribute", word)) return false;
    const size_t equal = word.find('=');
    const bool known = word == "slot" || word == "(scp)" || (equal != 0 && equal != std::string_view::npos);
    if (!known || !is_printable(word)) {
      line = before;
      return line.miss("attributes like s=4");
    }
    if (!attributes.empty()) attributes += ' ';
    attributes += word;
    if (word != "slot") continue;
    line.blanks();
    if (!line.word("the number of a slot", slot) || !is_digit(slot[0]))
      return line.miss("the number of a slot");
    attributes += fmt::format(" {}", slot);
  }
}

/// Takes "4xNDR"; old releases do not print it.
bool take_speed(Cursor& line, IbPort& port) {
  line.blanks();
  if (line.done()) return true;
  if (!line.take("??") && !(line.number("lanes like 4x", 1, 12, port.width) && line.need("x"))) return false;
  const Cursor before = line;
  std::string_view word;
  if (!line.word("a speed like NDR", word)) return false;
  if (parse_infiniband_speed(word, port.speed)) return true;
  line = before;
  return line.miss("a speed from SDR to XDR, or ???");
}

bool take_lid(Cursor& line, int& lid) {
  line.blanks();
  return line.need("lid ") && line.number("a lid", 0, kMostLid, lid);
}

bool take_lmc(Cursor& line, int& lmc) {
  line.blanks();
  return line.need("lmc ") && line.number("an lmc", 0, kMostLmc, lmc);
}

bool take_comment(Cursor& line) {
  line.blanks();
  if (!line.need("#")) return false;
  line.blanks();
  return true;
}

bool take_port(Cursor& line, bool of_switch, IbPort& port) {
  if (!take_number(line, port.number, port.external)) return false;
  line.blanks();
  if (!take_guid(line, port.guid)) return false;
  line.blanks();
  if (!take_label(line, port.peer_kind, port.peer) ||
      !take_number(line, port.peer_number, port.peer_external))
    return false;
  line.blanks();
  if (!take_guid(line, port.peer_guid) || !take_comment(line)) return false;
  if (!of_switch && !(take_lid(line, port.lid) && take_lmc(line, port.lmc))) return false;
  line.blanks();
  return line.quoted("the description of the peer", port.peer_description) && take_lid(line, port.peer_lid) &&
         take_speed(line, port) && take_attributes(line, port.attributes);
}

/// Takes `65 "S-2c5eab0300b87b40" # "leaf4" enhanced port 0 lid 73 lmc 0`, after the kind.
bool take_title(Cursor& line, IbNode& node) {
  IbKind kind{};
  uint64_t guid = 0;
  line.blanks();
  if (!line.number("how many ports", 0, kMostPorts, node.port_count)) return false;
  line.blanks();
  const Cursor before = line;
  if (!take_label(line, kind, guid)) return false;
  if (kind != node.kind || guid != node.guid) {
    line = before;
    return line.miss(fmt::format("the GUID {:x} of the line before", node.guid));
  }
  if (!take_comment(line) || !line.quoted("a description", node.description)) return false;
  line.blanks();
  if (node.kind != IbKind::fabric_switch) {
    line.take("(scp)");
    return line.need_end();
  }
  node.enhanced_port_0 = line.take("enhanced");
  if (!node.enhanced_port_0 && !line.need("base")) return false;
  if (!line.need(" port 0") || !take_lid(line, node.lid) || !take_lmc(line, node.lmc)) return false;
  line.blanks();
  return line.need_end();
}

class FullReader {
 public:
  FullReader(const Source& source, Notes* notes, Places& places)
      : source_(source), notes_(notes), places_(places), text_(source.text) {}

  Result<IbFabric> run() {
    for (std::string_view line; text_.next(line);) {
      line = trim(line);
      if (line.empty() || line.starts_with('#')) continue;
      WEIR_TRY(read_line(line));
      if (++items_ > kMostNodes)
        return wrong(fmt::format("the file lists more than {} nodes and ports", kMostNodes));
    }
    if (head_.begun) return wrong("the file ends in the middle of a node");
    return std::move(fabric_);
  }

 private:
  Status wrong(const std::string& sentence) const { return refuse(source_, text_.number(), sentence); }

  Status read_line(std::string_view line) {
    if (line.starts_with('[')) return read_port(line);
    if (line.starts_with("Switch\t") || line.starts_with("Switch "))
      return read_title(line, 6, IbKind::fabric_switch);
    if (line.starts_with("Ca\t") || line.starts_with("Ca ")) return read_title(line, 2, IbKind::adapter);
    if (line.starts_with("Rt\t") || line.starts_with("Rt ")) return read_title(line, 2, IbKind::router);
    if (line == "Non-Chassis Nodes") return {};
    if (line.starts_with("Chassis ") || line.starts_with("Hostname: ")) {
      return leave_out_line(source_, text_.number(), notes_,
                            fmt::format("{} is ignored: it only names the chassis of a node", shown(line)));
    }
    return read_head(line);
  }

  /// Takes `key=0x2c9`, possibly followed by a comment.
  Status read_head(std::string_view line) {
    Cursor cursor(line);
    uint64_t value = 0;
    bool read = false;
    IbNode& node = head_.node;
    bool* seen = nullptr;
    if (cursor.take("vendid=")) {
      seen = &head_.vendor;
      read = cursor.hex("a vendor", kMost32, value);
      node.vendor = static_cast<uint32_t>(value);
    } else if (cursor.take("devid=")) {
      seen = &head_.device;
      read = cursor.hex("a device", kMost32, value);
      node.device = static_cast<uint32_t>(value);
    } else if (cursor.take("sysimgguid=")) {
      seen = &head_.system;
      read = cursor.hex("a GUID", kMostGuid, node.system_guid);
    } else {
      seen = &head_.guid;
      read = read_guid(cursor);
    }
    cursor.blanks();
    if (!read || !(cursor.take("#") || cursor.need_end())) return wrong(cursor.complaint());
    if (*seen) return wrong(fmt::format("{} occurs twice before a node", line.substr(0, line.find('='))));
    *seen = true;
    head_.begun = true;
    open_ = false;
    return {};
  }

  bool read_guid(Cursor& cursor) {
    IbNode& node = head_.node;
    if (cursor.take("switchguid=")) {
      node.kind = IbKind::fabric_switch;
      return cursor.hex("a GUID", kMostGuid, node.guid) && take_guid(cursor, node.port_guid);
    }
    if (cursor.take("caguid=")) {
      node.kind = IbKind::adapter;
    } else if (cursor.take("rtguid=")) {
      node.kind = IbKind::router;
    } else {
      return cursor.miss(
          "a line of ibnetdiscover: vendid=, devid=, sysimgguid=, switchguid=, caguid=, Switch, Ca or [");
    }
    return cursor.hex("a GUID", kMostGuid, node.guid);
  }

  Status read_title(std::string_view line, size_t word, IbKind kind) {
    Cursor cursor(line.substr(word));
    if (!head_.vendor || !head_.device || !head_.guid || head_.node.kind != kind) {
      return wrong(fmt::format("{} without vendid=, devid= and {}guid= before it", line.substr(0, word),
                               kind == IbKind::fabric_switch ? "switch"
                               : kind == IbKind::adapter     ? "ca"
                                                             : "rt"));
    }
    if (!take_title(cursor, head_.node)) return wrong(cursor.complaint());
    fabric_.nodes.push_back(std::move(head_.node));
    places_.nodes.push_back(text_.number());
    places_.ports.emplace_back();
    head_ = Head();
    open_ = true;
    return {};
  }

  Status read_port(std::string_view line) {
    if (!open_) return wrong("a port before the line of its node");
    Cursor cursor(line);
    IbPort port;
    IbNode& node = fabric_.nodes.back();
    if (!take_port(cursor, node.kind == IbKind::fabric_switch, port)) return wrong(cursor.complaint());
    const auto end = static_cast<size_t>(line.data() + line.size() - source_.text.data());
    const bool cut = source_.text.find('\n', end) == std::string_view::npos;
    if (cut && port.width == 0)
      return wrong("the last line is cut off: it ends without a speed and a line end");
    node.ports.push_back(std::move(port));
    places_.ports.back().push_back(text_.number());
    return {};
  }

  const Source& source_;
  Notes* notes_;
  Places& places_;
  Lines text_;
  IbFabric fabric_;
  Head head_;
  bool open_ = false;
  size_t items_ = 0;
};

}  // namespace

Result<IbFabric> read_full(const Source& source, Notes* notes, Places& places) {
  return FullReader(source, notes, places).run();
}

}  // namespace weir::topology::ib
