// SPDX-License-Identifier: Apache-2.0
/// weir doctor: reports what is wrong or slow on this machine, a recorded machine or in a file, and the
/// remedy.
/// Tests: tests/cli/topo_test.cc
#pragma once

#include <vector>

#include "src/drivers/machine.h"
#include "topology/model/diagnosis.h"
#include "topology/model/graph.h"

namespace weir::cli {

/// Prints diagnoses; `machine` is null if the graph comes from a file. Returns the exit code: 1 if something
/// is wrong.
int print_diagnoses(const topology::Graph& graph, drivers::Machine* machine, bool is_here);

}  // namespace weir::cli
