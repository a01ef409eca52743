// SPDX-License-Identifier: Apache-2.0
/// Reads any of the formats of this folder, recognised by its beginning.
/// Tests: tests/topology/machines_test.cc
#pragma once

#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// Recognises the format, reads the text, builds a graph and checks it. A text that begins like no other
/// format is read as a synthetic machine in one line. Errors: those of the reader; invalid_argument for files
/// that describe no topology (NCCL's graph files).
Result<Graph> read_any(const Source& source, Notes* notes = nullptr);

}  // namespace weir::topology
