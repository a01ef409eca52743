// SPDX-License-Identifier: Apache-2.0
/// The rings of one host of several, as NCCL's graph files have them: from a NIC through all GPUs to a NIC.
///
/// Plain functions: thread-safe.
/// Tests: tests/cli/rings_test.cc
#pragma once

#include <vector>

#include "src/base/status.h"
#include "topology/formats/nccl_graph_xml.h"
#include "topology/model/graph.h"

namespace weir::cli {

/// The channels through `gpus`, all of the host `host`: those rings that together fill the links inside it,
/// each cut where its ends are nearest to the NIC by which it enters and leaves. All NICs that a path leads
/// to get equally many channels, so that hosts with equal numbers of GPUs and NICs have equally many. Errors:
/// those of algorithms::pack_rings(), and invalid_argument for a host without NICs that the GPUs reach.
Result<topology::ChannelGraph> rings_between_nics(const topology::Graph& graph, topology::Index host,
                                                  const std::vector<topology::Index>& gpus);

/// The number of a GPU in the vendor's library, for each of them; if any has none, their positions.
std::vector<int64_t> device_numbers(const topology::Graph& graph, const std::vector<topology::Index>& gpus);

}  // namespace weir::cli
