// SPDX-License-Identifier: Apache-2.0
/// GPUs and NICs of a host in a matrix, as printed by `nvidia-smi topo -m`: path classes, then GB/s.
/// Tests: tests/topology/views_text_test.cc, tests/topology/machines_test.cc
#pragma once

#include <string>

#include "topology/model/graph.h"

namespace weir::topology {

/// Columns and rows are GPU0, GPU1 ... and the names of NIC ports, both in the order of their numbers if they
/// have some. NVLink and xGMI show the number of links ("NV12", "XG4"); through a switch, the GPU's number of
/// links. If no speed is known, a sentence replaces the second table.
std::string matrix_of(const Graph& graph, Index host);

}  // namespace weir::topology
