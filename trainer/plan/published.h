// SPDX-License-Identifier: Apache-2.0
/// Published figures beside what is predicted for the same job.
///
/// Thread safety: pure functions.
#pragma once

#include "trainer/plan/cluster_file.h"

namespace weir::trainer::plan {

struct Outcome {
  Prediction prediction;
  int micro_batch = 0;   ///< that of the row, or the largest that fits
  double predicted = 0;  ///< in the row's measure
  double off = 0;        ///< predicted / published - 1; 0 where "more than" was published and is predicted
};

/// An error says what is wrong with the row's job, with its line.
Result<Outcome> evaluate(const ClusterFile& file, const Row& row);

/// The most sequences per micro-batch that fit, or why not even one does.
Result<int> largest_batch(const Model& model, const Cluster& cluster, Job job);

}  // namespace weir::trainer::plan
