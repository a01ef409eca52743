// SPDX-License-Identifier: Apache-2.0
/// The order of a job's ranks, and its forms: files for launchers of MPI, a list for Slurm, labels for
/// Kubernetes.
/// Tests: tests/cli/order_test.cc
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::cli {

/// Consecutive ranks on one host.
struct HostSlots {
  topology::Index host = topology::kNone;
  int slots = 0;
};

struct RankOrder {
  std::vector<HostSlots> hosts;  ///< in the order of their ranks; each host occurs once
  int ranks = 0;
  int leaf_groups = 0;  ///< groups of hosts that are attached to the same leaf switches, or to none
  /// Neighbours in the ring of all ranks whose hosts are in different groups: in this order, and in the order
  /// that was given.
  int crossings = 0;
  int given_crossings = 0;
};

/// The order of layout_of(). `hosts[r]` is the host of rank r in the given order.
RankOrder order_ranks(const topology::Graph& graph, std::span<const topology::Index> hosts);

/// The names of formats, as --format accepts them.
inline constexpr const char* kOrderFormats[] = {"hostfile", "openmpi-rankfile", "mpich", "slurm",
                                                "kubernetes"};

/// The text of the order in one of the formats. Errors: invalid_argument for a host whose name a launcher
/// would read as something else.
Result<std::string> order_text(const topology::Graph& graph, const RankOrder& order,
                               const std::string& format);

}  // namespace weir::cli
