// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/published.h"

#include <fmt/format.h>

namespace weir::trainer::plan {
namespace {

constexpr int kMostSequences = 1 << 16;

/// The predicted figure in the row's measure.
Result<double> measured(const Model& model, const Cluster& cluster, const Row& row, const Job& job,
                        const Prediction& prediction) {
  switch (row.measure) {
    case Measure::tflops: return prediction.model_flops / 1e12;
    case Measure::mfu: return prediction.mfu * 100;
    case Measure::tokens: return prediction.tokens_per_second;
    case Measure::scaling: break;
  }
  Cluster one_node = cluster;
  one_node.nodes = 1;
  const auto alone = predict(model, one_node, job);
  WEIR_TRY(alone.status());
  return 100 * prediction.tokens_per_second / alone->tokens_per_second;
}

Result<Outcome> outcome_of(const Model& model, const Cluster& cluster, const Row& row) {
  Job job = row.job;
  if (row.micro_batch == 0) {
    const auto largest = largest_batch(model, cluster, job);
    WEIR_TRY(largest.status());
    job.micro_batch = *largest;
  }
  const auto prediction = predict(model, cluster, job);
  WEIR_TRY(prediction.status());
  const auto predicted = measured(model, cluster, row, job, *prediction);
  WEIR_TRY(predicted.status());
  Outcome outcome{*prediction, job.micro_batch, *predicted, *predicted / row.published - 1};
  if (row.above && outcome.off > 0) outcome.off = 0;
  return outcome;
}

}  // namespace

Result<Outcome> evaluate(const ModelsFile& file, const Row& row) {
  Cluster cluster = file.cluster;
  cluster.nodes = row.nodes;
  auto outcome = outcome_of(*file.model(row.model), cluster, row);
  if (outcome.ok()) return outcome;
  return Status(outcome.status().code(), fmt::format("{}: {}", row.place, outcome.status().message()));
}

Result<int> largest_batch(const Model& model, const Cluster& cluster, Job job) {
  const auto fits = [&](int sequences) -> Status {
    job.micro_batch = sequences;
    const auto prediction = predict(model, cluster, job);
    WEIR_TRY(prediction.status());
    return check_memory(cluster, prediction->memory);
  };
  WEIR_TRY(fits(1));
  int low = 1;
  int high = kMostSequences + 1;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (fits(middle).ok() ? low : high) = middle;
  }
  return low;
}

}  // namespace weir::trainer::plan
