// SPDX-License-Identifier: Apache-2.0
/// Access Control Services (ACS) of PCIe switches: whether they redirect peer-to-peer traffic of devices
/// below them to the root complex, where it is slow or forbidden.
/// Tests: tests/topology/acs_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/drivers/files.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// The ACS control register in the configuration space of a PCI function; nothing if there is none or the
/// readable part of the space ends before it. PCI Express base specification, extended capability 0x000d.
std::optional<uint16_t> acs_control(std::string_view config);

struct AcsFindings {
  std::vector<std::string> redirecting;  ///< addresses of switch ports that redirect requests or completions
  int hidden = 0;                        ///< number of ports with unreadable configuration space
};

/// Examines all switch ports above the GPUs and NICs of the first host. Root ports are excluded: their
/// traffic is at the root complex already.
AcsFindings find_acs(drivers::Files& files, const Graph& graph);

}  // namespace weir::topology
