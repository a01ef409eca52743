// SPDX-License-Identifier: Apache-2.0
/// All hosts of a communicator measure the network between them, at once.
#pragma once

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "topology/model/measured.h"
#include "weir/status.h"

namespace weir::cli {

struct MeasurePlan {
  double seconds_per_round = 0.25;
  int repetitions = 0;  ///< 0: usual_repetitions() of the hosts
};

/// Collective; rank 0's plan counts. Of the ranks of one host the first measures, the
/// others return at once. Rank 0 gets what was measured, with a name for each host, unlike all others; the
/// rest get a value without hosts. Errors: the communicator's, which name a rank that died.
Result<topology::Measured> measure_network(core::Communicator& ranks, core::Runtime& runtime,
                                           const MeasurePlan& plan);

}  // namespace weir::cli
