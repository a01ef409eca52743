// SPDX-License-Identifier: Apache-2.0
/// Machines described in one line, for tests, planning and simulations:
///
///     2 x (8 gpu nvswitch 300, 8 nic 25) leaf 4:1
///
/// synthetic_grammar.h has the grammar and the meaning of each word; docs/machine.md is written from it.
/// Bandwidths are in GB/s per direction.
/// Tests: tests/topology/synthetic_test.cc
#pragma once

#include <string>
#include <vector>

#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

struct Synthetic {
  enum class Wiring : uint8_t { none, nvswitch, mesh, ring, cube, mi250 };
  struct Hosts {
    int count = 1;
    int gpus = 0;
    Wiring wiring = Wiring::none;
    double wire_gb_per_s = 0;
    double pcie_gb_per_s = 32;
    int nics = 0;
    double nic_gb_per_s = 0;
    int numa_nodes = 1;

    bool operator==(const Hosts&) const = default;
  };
  struct Fabric {
    bool rail = false;
    int hosts_per_leaf = 0;  ///< 0: not given
    double ratio = 0;        ///< 0: not given
    int spines = 1;

    bool operator==(const Fabric&) const = default;
  };
  std::vector<Hosts> hosts;
  std::vector<Fabric> fabric;  ///< one fabric or none

  bool operator==(const Synthetic&) const = default;
};

/// Errors: invalid_argument with the column and what was expected.
Result<Synthetic> read_synthetic(const Source& source);
/// REQUIRES: the value comes from read_synthetic().
Graph graph_of(const Synthetic& machine);

}  // namespace weir::topology
