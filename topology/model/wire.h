// SPDX-License-Identifier: Apache-2.0
/// Graphs as bytes, for their way between processes of one version of weir.
///
/// Not a file format: nothing in it says what it is, and it changes with the fields of graph.h. Who sends it
/// has made sure that the other end is of the same version.
#pragma once

#include "src/base/bytes.h"
#include "topology/model/graph.h"
#include "weir/status.h"

namespace weir::topology {

void put_graph(ByteWriter& writer, const Graph& graph);

/// What put_graph() wrote: a graph that passes check(). Errors: internal_error for other bytes.
Result<Graph> get_graph(ByteReader& reader);

}  // namespace weir::topology
