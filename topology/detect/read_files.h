// SPDX-License-Identifier: Apache-2.0
/// A topology from files of this machine, in any format that weir reads.
///
/// Thread-safe.
/// Tests: tests/api/planner_api_test.cc
#pragma once

#include <span>
#include <string>

#include "src/base/status.h"
#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// The graph that the files describe together; it passes check(). A text with parentheses that names no file
/// is a one-line machine description, such as "(8 gpu nvswitch 450, 8 nic 50)". Without `notes`, a file is
/// rejected if weir does not understand all of it. Errors: those of read_any() and merge(), and
/// invalid_argument for a file that does not exist, cannot be read or is too long. REQUIRES: at least one
/// file.
Result<Graph> read_files(std::span<const std::string> files, Notes* notes);

}  // namespace weir::topology
