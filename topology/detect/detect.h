// SPDX-License-Identifier: Apache-2.0
/// Detects the devices and links of one host by querying all available sources.
///
/// Probes run in phases: processors and the PCI tree (cpu), PCIe link speeds (pci), GPUs (nvml, kfd, rsmi),
/// ports of NICs (nic), the kind of host (host). Each reports what it found, or why it found nothing; a probe
/// that fails affects only its own results.
/// Tests: tests/topology/detect_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/drivers/machine.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// A remark of a probe.
struct Finding {
  enum class Kind : uint8_t {
    found,   ///< the device or property exists
    absent,  ///< it does not exist, which is no problem
    doubt    ///< something is inconsistent, failed or is hidden
  };
  std::string probe;
  Kind kind = Kind::found;
  std::string sentence;

  bool operator==(const Finding&) const = default;
};

struct Detected {
  Graph graph;  ///< this host, which is the first node, and its networks; passes check()
  std::vector<Finding> findings;
};

struct DetectOptions {
  /// Whether to query the InfiniBand subnet, which takes time proportional to its size.
  enum class Subnet : uint8_t {
    never,
    if_permitted,  ///< only if a management port is accessible
    always
  };
  Subnet subnet = Subnet::if_permitted;
  std::string lldp_socket;  ///< path of lldpd's socket; empty: the default path
  /// The description of the host from a file; the host is then not probed, and the first node is the only
  /// host.
  std::optional<Graph> host;
};

/// Only the network, as reported by the InfiniBand subnet. Empty if it may not be queried.
Detected detect_subnet(drivers::Machine& machine);

/// The network interfaces and the ports of verbs devices that have no link at the moment, sorted by name.
/// Takes some file accesses per interface.
std::vector<std::string> ports_without_link(drivers::Files& files);

/// Never fails: if nothing is known about a host, it is a host with one NUMA node. Takes tens of
/// milliseconds, longer if GPU drivers have to start.
Detected detect(drivers::Machine& machine, const DetectOptions& options = {});

}  // namespace weir::topology
