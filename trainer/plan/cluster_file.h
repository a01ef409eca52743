// SPDX-License-Identifier: Apache-2.0
/// Cluster files: a cluster, models, plans to make and published figures (docs/trainer-planning.md).
///
/// Thread safety: pure functions, but for reading the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/plan/pipeline.h"

namespace weir::trainer::plan {

/// The origin of a number of a cluster.
enum class Origin { given, assumed, fitted };

constexpr int kMostFitted = 2;

struct Constant {
  std::string name;
  Origin origin = Origin::given;
};

/// The measure of a published figure.
enum class Measure {
  scaling,  ///< tokens per second and GPU, in percent of what one node reaches with the same job
  tflops,   ///< TFLOP/s per GPU, counting the model's operations
  mfu,      ///< percent of the peak FLOP/s
  tokens,   ///< tokens per second and GPU
};

std::string_view name(Measure measure);

/// One published figure, and its job.
struct Row {
  int line = 0;
  std::string model;
  double nodes = 1;
  int micro_batch = 0;  ///< sequences per GPU; 0: the largest number that fits
  Job job;
  Pipeline pipeline;
  double published = 0;
  Measure measure = Measure::mfu;
  bool above = false;   ///< whether "more than" this value was published
  bool fitted = false;  ///< whether a constant was fitted to this row

  bool is_pipeline() const { return pipeline.tensor * pipeline.stages > 1; }
};

/// A plan to make if the command line requests none.
struct Question {
  std::string model;
  double nodes = 1;
  int batch = 0;  ///< sequences per GPU and step, see PlanConstraints
};

struct ClusterFile {
  Cluster cluster;
  std::vector<Constant> constants;
  std::vector<Model> models;
  std::vector<Row> rows;
  std::vector<Question> questions;

  const Model* model(std::string_view name) const;
};

/// `name` is for errors: "name:line: sentence". Unknown, duplicate or missing lines are errors, and so are
/// more than kMostFitted fitted constants; each `speed` of a row other than 1 counts as one.
Result<ClusterFile> parse_cluster_file(std::string_view name, std::string_view text);

Result<ClusterFile> read_cluster_file(const std::string& path);

}  // namespace weir::trainer::plan
