// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "topology/detect/detect.h"
#include "topology/detect/probe.h"
#include "topology/formats/source.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

/// The last PCI address in a path; empty: none.
std::string address_in(const std::string& path) {
  std::string found;
  for (const std::string_view part : split_list(path, '/')) parse_pci_address(part, found);
  return found;
}

/// The number at the beginning of a text; 0: none.
double leading_number(const std::optional<std::string>& text) {
  double value = 0;
  if (text) parse_number(std::string_view(*text).substr(0, text->find_first_of(" :")), value);
  return value;
}

/// The last 64 bits of "fe80:0000:0000:0000:0002:c903:0010:3f2b".
uint64_t guid_of(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ':'), text.end());
  uint64_t value = 0;
  return text.size() >= 16 && parse_hex(std::string_view(text).substr(text.size() - 16), value) ? value : 0;
}

/// The ports of a verbs device: their folders and names.
std::vector<std::pair<std::string, std::string>> verbs_ports(drivers::Files& files,
                                                             const std::string& device) {
  const std::string folder = "/sys/class/infiniband/" + device + "/ports";
  const std::vector<std::string> numbers = files.list(folder);
  std::vector<std::pair<std::string, std::string>> ports;
  for (const std::string& number : numbers)
    ports.emplace_back(folder + "/" + number,
                       numbers.size() > 1 ? fmt::format("{}:{}", device, number) : device);
  return ports;
}

bool is_active(drivers::Files& files, const std::string& verbs_port) {
  return files.read(verbs_port + "/state").value_or("").find("ACTIVE") != std::string::npos;
}

/// Drivers that do not know say "unknown".
bool has_link(drivers::Files& files, const std::string& interface) {
  const std::string state = files.read("/sys/class/net/" + interface + "/operstate").value_or("down");
  return state == "up" || state == "unknown";
}

class NicReader {
 public:
  explicit NicReader(Probe& probe) : probe_(probe) {}

  void read() {
    for (const std::string& device : probe_.files.list("/sys/class/infiniband")) read_verbs(device);
    for (const std::string& interface : probe_.files.list("/sys/class/net")) read_interface(interface);
    if (verbs_ > 0) probe_.found(fmt::format("{} ports of verbs devices", verbs_));
    if (interfaces_ > 0) probe_.found(fmt::format("{} network interfaces of devices", interfaces_));
    if (verbs_ + interfaces_ == 0) probe_.absent("only virtual network devices");
    if (!mute_.empty()) probe_.doubt(fmt::format("the driver does not report the speed of {}", mute_));
  }

 private:
  /// The NIC of a sysfs folder; if the PCI tree does not show it, it is added to its NUMA node.
  Index nic_of(const std::string& folder, const std::string& name) {
    const std::string real = probe_.files.real_path(folder).value_or("");
    const std::string address = address_in(real);
    const Index known = probe_.at_address(NodeKind::nic, address);
    if (known != kNone) return known;
    const std::vector<Index> numa = probe_.graph.all(NodeKind::numa);
    if (numa.empty()) return kNone;
    Index parent = numa.front();
    for (const Index node : numa) {
      if (probe_.graph.get<NumaFacts>(node)->number ==
          static_cast<int>(leading_number(probe_.files.read(folder + "/numa_node"))))
        parent = node;
    }
    NicFacts facts;
    facts.pci.address = address;
    const Index node = probe_.graph.add(address.empty() ? name : address, parent, facts);
    probe_.graph.connect({node, parent, LinkKind::pci, 1, 0, 0, -1});
    return node;
  }

  /// The port of that name, created if necessary.
  Index port_of(Index nic, const std::string& name) {
    for (Index node = nic + 1; node < probe_.graph.size(); ++node) {
      if (probe_.graph[node].parent == nic && probe_.graph[node].name == name) return node;
    }
    const Index node = probe_.graph.add(name, nic, PortFacts());
    probe_.graph.connect({node, nic, LinkKind::inner, 1, 0, 0, -1});
    return node;
  }

  void set_speed(Index port, const std::string& name, double mbit_per_s) {
    PortFacts& facts = *probe_.graph.get<PortFacts>(port);
    if (mbit_per_s > 0) facts.mbit_per_s = mbit_per_s;
    if (facts.mbit_per_s <= 0 && facts.active) mute_ += (mute_.empty() ? "" : ", ") + name;
    for (Link& link : probe_.graph.links()) {
      if (link.kind == LinkKind::inner && (link.from == port || link.to == port))
        link.gb_per_s = facts.mbit_per_s / 8000;
    }
  }

  void read_verbs(const std::string& device) {
    const std::string folder = "/sys/class/infiniband/" + device;
    const Index nic = nic_of(folder + "/device", device);
    if (nic == kNone) return;
    with_verbs_.push_back(nic);
    for (const auto& [port_folder, name] : verbs_ports(probe_.files, device)) {
      const Index node = port_of(nic, name);
      PortFacts& facts = *probe_.graph.get<PortFacts>(node);
      const bool ethernet = probe_.files.read(port_folder + "/link_layer").value_or("") == "Ethernet";
      facts.number = static_cast<int>(leading_number(port_folder.substr(port_folder.rfind('/') + 1)));
      facts.layer = ethernet ? PortLayer::ethernet : PortLayer::infiniband;
      facts.active = is_active(probe_.files, port_folder);
      uint64_t lid = 0;
      if (parse_hex(probe_.files.read(port_folder + "/lid").value_or(""), lid))
        facts.lid = static_cast<int>(lid & 0xffff);
      // On InfiniBand the port's own GUID; on Ethernet addresses change, so the device's GUID plus the port
      // number.
      facts.guid = ethernet ? guid_of(probe_.files.read(folder + "/node_guid").value_or("")) +
                                  static_cast<uint64_t>(facts.number - 1)
                            : guid_of(probe_.files.read(port_folder + "/gids/0").value_or(""));
      // A text like "100 Gb/sec (4X EDR)".
      set_speed(node, name,
                facts.active ? 1000 * leading_number(probe_.files.read(port_folder + "/rate")) : 0);
      ++verbs_;
    }
  }

  void read_interface(const std::string& interface) {
    const std::string folder = "/sys/class/net/" + interface;
    if (!probe_.files.real_path(folder + "/device")) return;  // loopback, bridges, tunnels
    ++interfaces_;
    const Index nic = nic_of(folder + "/device", interface);
    if (nic == kNone || std::find(with_verbs_.begin(), with_verbs_.end(), nic) != with_verbs_.end()) return;
    const Index node = port_of(nic, interface);
    PortFacts& facts = *probe_.graph.get<PortFacts>(node);
    facts.layer = PortLayer::ethernet;
    facts.active = has_link(probe_.files, interface);
    set_speed(node, interface, leading_number(probe_.files.read(folder + "/speed")));
  }

  Probe& probe_;
  std::vector<Index> with_verbs_;
  int verbs_ = 0;
  int interfaces_ = 0;
  std::string mute_;  ///< ports that are up but do not report their speed
};

}  // namespace

std::vector<std::string> ports_without_link(drivers::Files& files) {
  std::vector<std::string> names;
  for (const std::string& device : files.list("/sys/class/infiniband"))
    for (const auto& [folder, name] : verbs_ports(files, device))
      if (!is_active(files, folder)) names.push_back(name);
  for (const std::string& interface : files.list("/sys/class/net"))
    if (!has_link(files, interface)) names.push_back(interface);
  std::ranges::sort(names);
  return names;
}

void probe_nic(Probe& probe) { NicReader(probe).read(); }

}  // namespace weir::topology
