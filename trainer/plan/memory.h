// SPDX-License-Identifier: Apache-2.0
/// What a GPU has to hold: states, units in flight, and what forward leaves for backward.
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
  selective,  ///< attention cores only
  full,       ///< of each unit only the input is kept
};

std::string_view name(Recompute recompute);

/// Bytes per GPU.
struct Memory {
  double states =
      0;  ///< fp32 parameters, two moments, gradients and parameters as they are gathered, in shards
  double in_flight = 0;    ///< gathered parameters and gradients that wait for their reduction, at most
  double activations = 0;  ///< of one micro-batch

  double total() const { return states + in_flight + activations; }
};

double state_bytes(const Model& model, const Cluster& cluster, const Groups& groups);

/// Of `sequences` sequences: 34 bytes per token and width of each block and 5 per score of attention, as
/// Korthikanti et al. 2022 count them for two bytes per element; with full recomputation 2 per token and
/// width, and one block's all. A unit with two attention cores has the scores twice, and 11 more bytes per
/// token and width.
double activation_bytes(const Model& model, const Cluster& cluster, Recompute recompute, double sequences);

}  // namespace weir::trainer::plan
