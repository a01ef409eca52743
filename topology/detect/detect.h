// SPDX-License-Identifier: Apache-2.0
/// Finds out what one host is made of, by asking everything that knows a part of it.
///
/// Probes run in phases: the processors and the PCI tree (cpu), what its links do (pci), GPUs (nvml, kfd,
/// rsmi), ports of NICs (nic), what kind of host it is (host). Each says what it found, or why not; one that
/// fails takes only itself down.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/drivers/machine.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// What a probe has to say.
struct Finding {
  enum class Kind : uint8_t {
    found,   ///< this was there
    absent,  ///< it was not, and that is all right
    doubt    ///< something does not fit, failed or is hidden
  };
  std::string probe;
  Kind kind = Kind::found;
  std::string sentence;

  bool operator==(const Finding&) const = default;
};

struct Detected {
  Graph graph;  ///< of this host, which is its first node, and of its networks; passes check()
  std::vector<Finding> findings;
};

struct DetectOptions {
  /// Whether to ask the InfiniBand subnet, which takes as long as the subnet is large.
  enum class Subnet : uint8_t {
    never,
    if_permitted,  ///< where a management port is seen
    always
  };
  Subnet subnet = Subnet::if_permitted;
  std::string lldp_socket;  ///< of lldpd; empty: the usual one
  /// What a file says of the host, which is then not looked at: the first node is the only host.
  std::optional<Graph> host;
};

/// The network alone, as far as the InfiniBand subnet tells. Empty where it may not be asked.
Detected detect_subnet(drivers::Machine& machine);

/// Never fails: a host of which nothing is known is a host with one NUMA node. Takes tens of milliseconds,
/// longer where drivers of GPUs have to wake up.
Detected detect(drivers::Machine& machine, const DetectOptions& options = {});

}  // namespace weir::topology
