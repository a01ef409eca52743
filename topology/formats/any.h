// SPDX-License-Identifier: Apache-2.0
/// Reads any of the formats of this folder, recognised by its beginning.
/// Tests: tests/topology/any_test.cc, tests/topology/machines_test.cc
#pragma once

#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// Recognises the format, reads the text, builds a graph and checks it. The text may be UTF-8 or UTF-16, with
/// any line ends. Lines before the first one that begins a format, prompts of shells, and what follows the
/// topology are ignored with a note. A single line that begins no format is read as a synthetic machine.
/// Errors: those of the reader; invalid_argument for files that describe no topology; the sentence names what
/// the file probably is.
Result<Graph> read_any(const Source& source, Notes* notes = nullptr);

}  // namespace weir::topology
