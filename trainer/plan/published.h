// SPDX-License-Identifier: Apache-2.0
/// Published figures compared with predictions for the same jobs.
///
/// Thread safety: as links.h.
#pragma once

#include "trainer/plan/models_file.h"

namespace weir::trainer::plan {

struct Outcome {
  Prediction prediction;
  int micro_batch = 0;   ///< sequences per GPU, from the row, or the largest number that fits
  double predicted = 0;  ///< predicted figure, in the row's measure
  double off = 0;        ///< predicted / published - 1; 0 if "more than" was published and is predicted
};

/// An error states what is wrong with the row's job, with its place in the file.
Result<Outcome> evaluate(const ModelsFile& file, const Row& row);

/// The largest number of sequences per micro-batch that fits, or the reason why none does.
Result<int> largest_batch(const Model& model, const Cluster& cluster, Job job);

}  // namespace weir::trainer::plan
