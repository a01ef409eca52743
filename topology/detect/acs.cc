// SPDX-License-Identifier: Apache-2.0

#include "topology/detect/acs.h"

#include <set>

#include "src/base/text.h"
#include "topology/formats/source.h"

namespace weir::topology {
namespace {

constexpr size_t kFirstExtended = 0x100;
constexpr size_t kWholeSpace = 4096;
constexpr size_t kForEverybody = 64;  // without privileges the kernel shows only the first 64 bytes
constexpr uint32_t kAcs = 0x000d;
// ACS control bits that redirect requests, completions, and upstream traffic to the root complex.
constexpr uint16_t kRequestRedirect = 1 << 2, kCompletionRedirect = 1 << 3, kUpstreamForwarding = 1 << 4;

uint32_t word_at(std::string_view config, size_t at, size_t bytes) {
  uint32_t word = 0;
  for (size_t i = bytes; i-- > 0;) word = word << 8 | static_cast<unsigned char>(config[at + i]);
  return word;
}

/// The switch ports on the path of a device; the path has all ports, beginning with the root port.
void add_ports(const std::string& path, std::set<std::string>& ports) {
  std::vector<std::string> addresses;
  for (const std::string_view part : split_list(path, '/')) {
    std::string address;
    if (parse_pci_address(part, address)) addresses.push_back(std::move(address));
  }
  for (size_t i = 1; i + 1 < addresses.size(); ++i) ports.insert(addresses[i]);
}

}  // namespace

std::optional<uint16_t> acs_control(std::string_view config) {
  size_t at = kFirstExtended;
  // Bounded by the number of possible headers: a broken list may be a cycle.
  for (size_t step = 0; step < kWholeSpace / 4 && at >= kFirstExtended && at + 8 <= config.size(); ++step) {
    const uint32_t header = word_at(config, at, 4);
    if (header == 0 || header == UINT32_MAX) return std::nullopt;
    if ((header & 0xffff) == kAcs) return static_cast<uint16_t>(word_at(config, at + 6, 2));
    at = header >> 20 & 0xffc;
  }
  return std::nullopt;
}

AcsFindings find_acs(drivers::Files& files, const Graph& graph) {
  std::set<std::string> ports;
  for (Index node = 0; node < graph.size(); ++node) {
    const PciFacts* pci = pci_of(graph[node]);
    const bool device = graph[node].kind() == NodeKind::gpu || graph[node].kind() == NodeKind::nic;
    if (!device || pci->address.empty() || graph.holder(node, NodeKind::host) != 0) continue;
    add_ports(files.real_path("/sys/bus/pci/devices/" + pci->address).value_or(""), ports);
  }
  AcsFindings findings;
  for (const std::string& port : ports) {
    const std::string config = files.read_bytes("/sys/bus/pci/devices/" + port + "/config").value_or("");
    const uint16_t control = acs_control(config).value_or(0);
    if ((control & (kRequestRedirect | kCompletionRedirect | kUpstreamForwarding)) != 0)
      findings.redirecting.push_back(port);
    if (config.size() == kForEverybody) ++findings.hidden;
  }
  return findings;
}

}  // namespace weir::topology
