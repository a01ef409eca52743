// SPDX-License-Identifier: Apache-2.0
/// GPUs and NICs of a host against each other, as `nvidia-smi topo -m` prints them: path classes, then GB/s.
#pragma once

#include <string>

#include "topology/model/graph.h"

namespace weir::topology {

/// Columns and rows are GPU0, GPU1 ... and the ports of NICs by name, both by their numbers where they have
/// some. NVLink and xGMI show their number of links ("NV12", "XG4"); through a switch that of the GPU. Where
/// no speed is known at all a sentence says so in place of the second table.
std::string matrix_of(const Graph& graph, Index host);

}  // namespace weir::topology
