// SPDX-License-Identifier: Apache-2.0
/// Access Control Services (ACS) of PCIe switches: whether they send what devices below them say to each
/// other up to the root complex, which is slow, or forbidden there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/drivers/files.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// The ACS control register in the configuration space of a PCI function; nothing where it has none, or where
/// the space ends before. PCI Express base specification, extended capability 0x000d.
std::optional<uint16_t> acs_control(std::string_view config);

struct AcsFindings {
  std::vector<std::string> redirecting;  ///< addresses of ports of switches that redirect requests or answers
  int hidden = 0;                        ///< ports whose configuration space may not be read in full
};

/// Of all ports of switches above the GPUs and NICs of the first host. Not of root ports: what passes them is
/// at the root complex already.
AcsFindings find_acs(drivers::Files& files, const Graph& graph);

}  // namespace weir::topology
