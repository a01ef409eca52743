// SPDX-License-Identifier: Apache-2.0
/// A graph in one line, for logs: "2 nodes, each with 2 NUMA nodes, 8 GPUs (NVIDIA H100) with NVLink, 8 NICs;
/// 4 leaves, 2 spines, 2:1 oversubscribed".
/// Tests: tests/library/topology_test.cc
#pragma once

#include <string>

#include "topology/model/graph.h"

namespace weir::topology {

/// The devices of a host, without its name: "1 NUMA node, no GPU, 1 NIC (10 Gb/s)".
std::string host_summary(const Graph& graph, Index host);

std::string summary_of(const Graph& graph);

}  // namespace weir::topology
