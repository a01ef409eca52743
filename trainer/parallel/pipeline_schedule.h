// SPDX-License-Identifier: Apache-2.0
/// The order in which a stage of a pipeline does its passes: one forward, one backward (1F1B, Narayanan et
/// al., 2021). Pure.
#pragma once

#include <vector>

#include "trainer/shard/visits.h"

namespace weir::parallel {

/// Micro-batches of which a stage keeps activations at most.
int most_in_flight(int stage, int stages, int micro_batches);

/// A stage first goes forward as many times as there are stages after it, then forward and backward in turn,
/// then backward for those that are left. With one stage: forward and backward of each micro-batch in turn.
/// Both directions take micro-batches in order, so sums over them do not depend on the stages.
std::vector<shard::Pass> one_forward_one_backward(int stage, int stages, int micro_batches);

}  // namespace weir::parallel
