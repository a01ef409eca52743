// SPDX-License-Identifier: Apache-2.0
/// Checks a host for problems besides its topology: limits, drivers, the IOMMU, ACS.
/// Tests: tests/topology/detect_test.cc, tests/topology/acs_test.cc
#pragma once

#include <vector>

#include "src/drivers/machine.h"
#include "topology/model/diagnosis.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// `graph`: the result of detect() on the same machine.
std::vector<Diagnosis> diagnose_host(drivers::Machine& machine, const Graph& graph);

}  // namespace weir::topology
