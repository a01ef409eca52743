// SPDX-License-Identifier: Apache-2.0
/// Rates of links whose description names none: most outputs of tools list what is connected, not how fast.
///
/// A graph keeps unknown rates as 0. Only a caller that asks for it gets assumptions, and the sentence that
/// names them: the commands that plan do, communicators do not. The table is in device_rates.h.
///
/// Functions of their arguments.
/// Tests: tests/topology/assumed_rates_test.cc
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// GB/s per direction that the user prefers to the table; 0: the table decides.
struct AssumedRates {
  double nvlink = 0;   ///< one NVLink
  double xgmi = 0;     ///< one Infinity Fabric link between GPUs
  double c2c = 0;      ///< all links between a GPU and its processor
  double pcie = 0;     ///< a PCIe link of a device or a switch
  double cpu = 0;      ///< between two NUMA nodes
  double nic = 0;      ///< a port of a NIC; a host without NICs counts as one port
  double network = 0;  ///< a cable between two switches

  bool operator==(const AssumedRates&) const = default;
};

/// Parses "nvlink=25,pcie=31.5" (GB/s). Errors: invalid_argument for unknown or repeated names and for values
/// that are not numbers above 0.
Result<AssumedRates> parse_assumed_rates(std::string_view text);

/// Gives a rate to each link that has none; known rates stay. Returns the assumptions, such as "NVLink 25
/// GB/s per link (NVLink 3), PCIe 31.5 GB/s (Gen4 x16)"; empty: nothing was missing.
///
/// Cables between switches get what makes the network without oversubscription: all cables to the level above
/// together carry what arrives from below. Hosts that share NVLink switches (Slurm's blocks) but no cable at
/// all are connected by an additional switch, because blocks are always connected by a network. Hosts without
/// links are connected with those of their NICs that have cables: nothing is known about what they contain.
/// REQUIRES: the graph passes check(); it passes it afterwards.
std::string assume_rates(Graph& graph, const AssumedRates& preferred = {});

}  // namespace weir::topology
