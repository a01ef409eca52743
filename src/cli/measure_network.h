// SPDX-License-Identifier: Apache-2.0
/// Measures the network between all hosts of a communicator.
/// Tests: tests/topology/measure_test.py, tests/cli/measure_test.cc
#pragma once

#include "src/base/status.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "topology/model/measured.h"

namespace weir::cli {

struct MeasurePlan {
  double seconds_per_round = 0.25;
  int repetitions = 0;  ///< number of repetitions; 0: usual_repetitions() of the number of hosts
};

/// Collective; the measurement plan of rank 0 applies to all ranks. The first rank of each host measures, the
/// others return at once. Rank 0 gets the measurements, with a unique name for each host; the other ranks get
/// a value without hosts. Errors: the communicator's, which name a rank that died.
Result<topology::Measured> measure_network(core::Communicator& ranks, core::Runtime& runtime,
                                           const MeasurePlan& plan);

}  // namespace weir::cli
