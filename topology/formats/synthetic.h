// SPDX-License-Identifier: Apache-2.0
/// Machines described in one line, for tests, planning and simulations:
///
///     2 x (8 gpu nvswitch 300, 8 nic 25) leaf 4:1
///
///     cluster := hosts { "+" hosts } [ fabric ]
///     hosts   := [ COUNT "x" ] "(" item { "," item } ")"
///     item    := COUNT "gpu" [ wiring ] [ "pcie" GB/S ] | COUNT "nic" GB/S | COUNT "numa"
///     wiring  := "nvswitch" GB/S | "mesh" GB/S | "ring" GB/S | "cube" GB/S | "mi250" GB/S
///     fabric  := [ "rail" ] "leaf" [ "by" HOSTS ] [ RATIO ":1" ] [ "spine" COUNT ]
///
/// Bandwidths are in GB/s per direction, at least 0.0001. nvswitch: of each GPU to the switch; mesh: of each
/// pair; ring: of each of the two neighbours; cube: of one link of the cube mesh of 8 GPUs in DGX-1V (some
/// pairs have two); mi250: of one link among the 16 dies of 8 MI250 packages, of which the first COUNT dies
/// are used. GPUs are numbered in order; GPU i shares a PCIe switch (`pcie`, default 32) with NIC floor(i x
/// NICs / GPUs); if there are fewer GPUs than NICs, each has several. Switches are spread evenly over the
/// NUMA nodes (default 1).
///
/// leaf: `by` hosts share a leaf switch (default: all of them, or with a ratio half of them, rounded up);
/// rail: NIC j of each of these hosts is on leaf j of their group instead. RATIO:1 is a leaf's bandwidth to
/// its hosts divided by its bandwidth to all spines together (default 1); there are spines (default 1) if
/// there are several leaves. Without a fabric, hosts are not connected.
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
