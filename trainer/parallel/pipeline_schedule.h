// SPDX-License-Identifier: Apache-2.0
/// The order in which a stage of a pipeline does its passes: one forward, one backward (1F1B, Narayanan et
/// al., 2021). Pure.
#pragma once

#include <vector>

#include "trainer/shard/visits.h"

namespace weir::parallel {

/// The maximum number of micro-batches whose activations a stage keeps.
int most_in_flight(int stage, int stages, int micro_batches);

/// A stage first runs as many forward passes as there are stages after it, then alternates forward and
/// backward passes, then runs the remaining backward passes. With one stage: forward and backward of each
/// micro-batch in turn. Both directions process micro-batches in order, so that sums over them do not depend
/// on the number of stages.
std::vector<shard::Pass> one_forward_one_backward(int stage, int stages, int micro_batches);

}  // namespace weir::parallel
