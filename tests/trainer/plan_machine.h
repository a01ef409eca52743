// SPDX-License-Identifier: Apache-2.0
/// Clusters for tests of the step-time model.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trainer/plan/cluster.h"

namespace weir::trainer::plan {

/// The links of equal nodes with one NIC each, which PCIe does not limit. GB/s per GPU inside and per node
/// between; microseconds per step of a ring inside and between.
struct Machine {
  int nodes = 1;
  int gpus = 8;
  double inside = 235;
  double between = 4;
  double inside_latency = 0;
  double latency = 0;
};

inline Cluster on(const Machine& machine) {
  Cluster cluster;
  const auto links =
      Links::read({fmt::format("{} x ({} gpu nvswitch {} pcie {}, 1 nic {}) leaf", machine.nodes,
                               machine.gpus, machine.inside, machine.between, machine.between)},
                  fmt::format("0,nvlink={},network={}", machine.inside_latency, machine.latency / 2));
  EXPECT_TRUE(links.ok()) << links.status().message();
  if (links.ok()) cluster.links = *links;
  cluster.nodes = machine.nodes;
  cluster.gpus = machine.gpus;
  cluster.memory = 80e9;
  cluster.peak = 312e12;
  cluster.compute = 140e12;
  return cluster;
}

}  // namespace weir::trainer::plan
