// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/subnet.h"

#include <fmt/format.h>

#include "src/drivers/library.h"

#if defined(WEIR_HAS_IBNETDISC) && defined(WEIR_HAS_MAD)

#include <infiniband/ibnetdisc.h>
#include <infiniband/mad.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

namespace weir::drivers {
namespace {

struct SubnetFunctions {
  decltype(ibnd_discover_fabric)* discover;
  decltype(ibnd_destroy_fabric)* destroy;
  decltype(ibnd_iter_nodes)* each_node;
  decltype(mad_get_field)* field;
  decltype(mad_get_field64)* field64;

  bool find_in(const Library& netdisc, const Library& mad) {
    return netdisc.find("ibnd_discover_fabric", discover) && netdisc.find("ibnd_destroy_fabric", destroy) &&
           netdisc.find("ibnd_iter_nodes", each_node) && mad.find("mad_get_field", field) &&
           mad.find("mad_get_field64", field64);
  }
};

const char* width_words(uint32_t active) {
  switch (active) {
    case 1: return "1x";
    case 2: return "4x";
    case 4: return "8x";
    case 8: return "12x";
    case 16: return "2x";
    default: return "??";
  }
}

/// The extended speed is used if it is set.
const char* speed_words(uint32_t active, uint32_t extended) {
  switch (extended) {
    case 1: return "FDR";
    case 2: return "EDR";
    case 4: return "HDR";
    case 8: return "NDR";
    default: break;
  }
  switch (active) {
    case 1: return "SDR";
    case 2: return "DDR";
    case 4: return "QDR";
    default: return "???";
  }
}

/// Prints nodes in the format of ibnetdiscover.
class Printer {
 public:
  explicit Printer(const SubnetFunctions& functions) : functions_(functions) {}

  /// Prints all nodes of a fabric in the order of their GUIDs; the library lists them in the order of their
  /// answers.
  std::string print(ibnd_fabric_t* fabric) {
    std::vector<ibnd_node_t*> nodes;
    const auto keep = [](ibnd_node_t* node, void* list) {
      static_cast<std::vector<ibnd_node_t*>*>(list)->push_back(node);
    };
    functions_.each_node(fabric, keep, &nodes);
    std::sort(nodes.begin(), nodes.end(), [](auto* a, auto* b) { return a->guid < b->guid; });
    for (ibnd_node_t* node : nodes) print(*node);
    return std::move(text_);
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }
  uint32_t node_field(ibnd_node_t& node, MAD_FIELDS field) const {
    return functions_.field(node.info, 0, field);
  }

  /// The description of a node without quotes and control characters, because it comes from the fabric.
  static std::string description(const ibnd_node_t& node) {
    std::string text(node.nodedesc);
    for (char& c : text) {
      if (c == '"' || static_cast<unsigned char>(c) < 0x20) c = '_';
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }
  static char letter(const ibnd_node_t& node) {
    return node.type == IB_NODE_SWITCH ? 'S' : node.type == IB_NODE_CA ? 'H' : 'R';
  }

  void print(ibnd_node_t& node) {
    const bool is_switch = node.type == IB_NODE_SWITCH;
    const char* const kind = is_switch ? "switch" : node.type == IB_NODE_CA ? "ca" : "rt";
    add("\nvendid={:#x}\ndevid={:#x}\nsysimgguid={:#x}\n{}guid={:#x}", node_field(node, IB_NODE_VENDORID_F),
        node_field(node, IB_NODE_DEVID_F), functions_.field64(node.info, 0, IB_NODE_SYSTEM_GUID_F), kind,
        node.guid);
    if (is_switch) add("({:x})", functions_.field64(node.info, 0, IB_NODE_PORT_GUID_F));
    add("\n{}\t{} \"{}-{:016x}\"\t\t# \"{}\"",
        is_switch                 ? "Switch"
        : node.type == IB_NODE_CA ? "Ca"
                                  : "Rt",
        node.numports, letter(node), node.guid, description(node));
    if (is_switch)
      add(" {} port 0 lid {} lmc {}", node.smaenhsp0 != 0 ? "enhanced" : "base", node.smalid, node.smalmc);
    text_ += '\n';
    for (int number = 1; node.ports != nullptr && number <= node.numports; ++number) {
      if (node.ports[number] != nullptr && node.ports[number]->remoteport != nullptr)
        print(*node.ports[number]);
    }
  }

  void print(ibnd_port_t& port) {
    const ibnd_port_t& remote = *port.remoteport;
    const bool of_switch = port.node->type == IB_NODE_SWITCH;
    add("[{}]", port.portnum);
    if (!of_switch) add("({:x})", port.guid);
    add("\t\"{}-{:016x}\"[{}]", letter(*remote.node), remote.node->guid, remote.portnum);
    if (remote.node->type != IB_NODE_SWITCH) add("({:x})", remote.guid);
    text_ += "\t\t# ";
    if (!of_switch) add("lid {} lmc {} ", port.base_lid, port.lmc);
    const bool to_switch = remote.node->type == IB_NODE_SWITCH;
    add("\"{}\" lid {} {}{}\n", description(*remote.node), to_switch ? remote.node->smalid : remote.base_lid,
        width_words(functions_.field(port.info, 0, IB_PORT_LINK_WIDTH_ACTIVE_F)),
        speed_words(functions_.field(port.info, 0, IB_PORT_LINK_SPEED_ACTIVE_F),
                    functions_.field(port.info, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F)));
  }

  const SubnetFunctions& functions_;
  std::string text_;
};

}  // namespace

Result<std::string> subnet_text() {
  Result<Library> netdisc = Library::open("libibnetdisc.so.5");
  if (!netdisc.ok()) return netdisc.status();
  Result<Library> mad = Library::open("libibmad.so.5");
  if (!mad.ok()) return mad.status();
  SubnetFunctions functions;
  if (!functions.find_in(*netdisc, *mad))
    return Status(Code::system_error, "libibnetdisc.so.5 lacks functions that weir needs");
  ibnd_config_t config{};
  const std::unique_ptr<ibnd_fabric_t, decltype(functions.destroy)> fabric(
      functions.discover(nullptr, 0, nullptr, &config), functions.destroy);
  if (fabric == nullptr) {
    return Status(Code::system_error,
                  "cannot discover the InfiniBand subnet: this needs an active port and access to "
                  "/dev/infiniband/umad* (root); a saved output of ibnetdiscover can be used instead");
  }
  return Printer(functions).print(fabric.get());
}

}  // namespace weir::drivers

#else

namespace weir::drivers {

Result<std::string> subnet_text() {
  return Status(Code::system_error,
                "this build of weir cannot discover the InfiniBand subnet: it was built without "
                "libibnetdisc's headers; a saved output of ibnetdiscover can be used instead");
}

}  // namespace weir::drivers

#endif
