// SPDX-License-Identifier: Apache-2.0
/// The memory of a GPU: states, gathered units in flight, and activations that forward saves for backward.
///
/// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "trainer/plan/cluster.h"
#include "trainer/plan/model.h"
#include "trainer/plan/wire.h"

namespace weir::trainer::plan {

enum class Recompute {
  none,
  selective,  ///< only attention cores are recomputed
  full,       ///< only the input of each unit is kept
};

std::string_view name(Recompute recompute);

/// Bytes per GPU.
struct Memory {
  double states = 0;  ///< fp32 parameters, two moments, gradients, and parameters in gathering precision, all
                      ///< sharded; with HPZ also the secondary copy
  double in_flight = 0;    ///< maximum of gathered parameters and of gradients that wait for their reduction
  double activations = 0;  ///< activations between forward and backward

  double total() const { return states + in_flight + activations; }
};

double state_bytes(const Model& model, const Cluster& cluster, const Groups& groups);

/// Bytes that activations of one micro-batch take.
struct ActivationBytes {
  double kept = 0;     ///< from forward to backward
  double working = 0;  ///< of one block or of the logits, whatever is more

  double total() const { return kept + working; }
};

/// Activations of `sequences` sequences: 34 bytes per token and width of each block and 5 per attention
/// score, as Korthikanti et al. 2022 count them for two bytes per element; with full recomputation 2 per
/// token and width, plus all of one block. A unit with two attention cores has twice the scores, and 11 more
/// bytes per token and width.
ActivationBytes activation_bytes(const Model& model, const Cluster& cluster, Recompute recompute,
                                 double sequences);

/// Success if the memory fits into a GPU's, or the reason why not.
Status check_memory(const Cluster& cluster, const Memory& memory);

}  // namespace weir::trainer::plan
