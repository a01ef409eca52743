// SPDX-License-Identifier: Apache-2.0
/// Any of the formats of this folder, recognised by its beginning.
#pragma once

#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// Recognises, reads, makes a graph and checks it. What begins like no format counts as a synthetic machine
/// in a line. Errors: those of the reader; invalid_argument for files that describe no topology (graphs of
/// NCCL).
Result<Graph> read_any(const Source& source, Notes* notes = nullptr);

}  // namespace weir::topology
