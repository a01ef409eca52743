// SPDX-License-Identifier: Apache-2.0
/// Latencies that simulations assume, by kind of link: descriptions of machines hardly ever contain any.
///
/// Functions of their arguments.
/// Tests: tests/topology/latencies_test.cc
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// Microseconds, one way. The defaults are the table of assumptions; latencies.cc names their sources.
struct Latencies {
  double nvlink = 0.6;    ///< between two GPUs; half of it to an NVSwitch
  double xgmi = 1.2;      ///< between two GPUs
  double c2c = 0.3;       ///< between a GPU and its processor
  double pcie = 0.5;      ///< one link, to a switch or a root complex
  double cpu = 0.1;       ///< between two NUMA nodes
  double nic = 0.2;       ///< a NIC, between PCIe and its cable
  double network = 0.15;  ///< a network cable, and half of the switch at its end
  double message = 1;     ///< work of the sender for each message, wherever it goes

  bool operator==(const Latencies&) const = default;
};

/// Parses "nvlink=0.5,message=2". A number alone sets all of them; what follows it counts more. Errors:
/// invalid_argument for unknown names and for values that are not numbers from 0 to a second.
Result<Latencies> parse_latencies(std::string_view text);

/// Of a link: what its description says, else by its kind; in microseconds.
double latency_of(const Graph& graph, const Link& link, const Latencies& assumed);

/// The latencies of links of some kinds, and of messages: "NVLink 0.6, PCIe 0.5, message 1 us"; "none" if
/// all are 0. `kinds`: index: LinkKind; whether there are such links.
std::string words_of(const Latencies& assumed, const std::array<bool, kLinkKinds>& kinds);

}  // namespace weir::topology
