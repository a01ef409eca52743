// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <utility>

#include "tests/topology/writers.h"

namespace weir::topology {
namespace {

constexpr std::array<const char*, 6> kWirings = {"", "nvswitch", "mesh", "ring", "cube", "mi250"};

}  // namespace

std::string write_synthetic(const Synthetic& machine) {
  std::string text;
  const auto add = [&]<typename... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
  };
  for (const Synthetic::Hosts& hosts : machine.hosts) {
    add("{}{} x ({} numa", text.empty() ? "" : " + ", hosts.count, hosts.numa_nodes);
    if (hosts.gpus > 0) {
      add(", {} gpu", hosts.gpus);
      if (hosts.wiring != Synthetic::Wiring::none)
        add(" {} {}", kWirings[static_cast<size_t>(hosts.wiring)], hosts.wire_gb_per_s);
      add(" pcie {}", hosts.pcie_gb_per_s);
    }
    if (hosts.nics > 0) add(", {} nic {}", hosts.nics, hosts.nic_gb_per_s);
    text += ")";
  }
  for (const Synthetic::Fabric& fabric : machine.fabric) {
    add(" {}leaf", fabric.rail ? "rail " : "");
    if (fabric.hosts_per_leaf > 0) add(" by {}", fabric.hosts_per_leaf);
    if (fabric.ratio > 0) add(" {}:1", fabric.ratio);
    add(" spine {}", fabric.spines);
  }
  return text;
}

}  // namespace weir::topology
