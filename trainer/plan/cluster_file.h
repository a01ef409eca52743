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

/// Where a figure of a cluster comes from.
enum class Origin { given, assumed, fitted };

constexpr int kMostFitted = 2;

struct Constant {
  std::string name;
  Origin origin = Origin::given;
};

/// What a published figure counts.
enum class Measure {
  scaling,  ///< percent of the tokens per second and GPU that one node reaches with the same job
  tflops,   ///< TFLOP/s of the model per GPU
  mfu,      ///< percent of the peak
  tokens,   ///< per second and GPU
};

std::string_view name(Measure measure);

/// One published figure, and the job that it is for.
struct Row {
  int line = 0;
  std::string model;
  double nodes = 1;
  int micro_batch = 0;  ///< 0: the largest that fits
  Job job;
  Pipeline pipeline;
  double published = 0;
  Measure measure = Measure::mfu;
  bool above = false;   ///< "more than" was published
  bool fitted = false;  ///< a constant was fitted to it

  bool is_pipeline() const { return pipeline.tensor * pipeline.stages > 1; }
};

/// A plan that is made where none is asked for.
struct Question {
  std::string model;
  double nodes = 1;
  int batch = 0;  ///< see Wish
};

struct ClusterFile {
  Cluster cluster;
  std::vector<Constant> constants;
  std::vector<Model> models;
  std::vector<Row> rows;
  std::vector<Question> questions;

  const Model* model(std::string_view name) const;
};

/// `name` is for errors: "name:line: sentence". Anything unknown, doubled or missing is an error, and so are
/// more than kMostFitted fitted constants; each speed of rows other than 1 counts as one.
Result<ClusterFile> parse_cluster_file(std::string_view name, std::string_view text);

Result<ClusterFile> read_cluster_file(const std::string& path);

}  // namespace weir::trainer::plan
