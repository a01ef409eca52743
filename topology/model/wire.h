// SPDX-License-Identifier: Apache-2.0
/// Serialises graphs for transfer between processes of one version of weir.
///
/// Not a file format: it has no header, and it changes with the fields of graph.h. The sender must have
/// checked that the receiver is of the same version.
/// Tests: tests/topology/wire_test.cc
#pragma once

#include "src/base/bytes.h"
#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::topology {

void put_graph(ByteWriter& writer, const Graph& graph);

/// Reads the output of put_graph(): a graph that passes check(). Errors: internal_error for other bytes.
Result<Graph> get_graph(ByteReader& reader);

}  // namespace weir::topology
