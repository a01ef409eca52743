// SPDX-License-Identifier: Apache-2.0
/// Models files: a device, models, plans to make and published figures, as JSON (docs/trainer-planning.md).
/// The cluster itself is described by files of the library.
///
/// Thread safety: pure functions, but for reading files.
/// Tests: tests/trainer/plan_models_file_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/plan/predict.h"

namespace weir::trainer::plan {

constexpr int kMostFitted = 2;

/// A number of the file or of its topology, and where it comes from: "given", "assumed" or "fitted".
struct Constant {
  std::string name;
  std::string origin;
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
  std::string place;  ///< for errors, such as "rows[3]"
  std::string model;
  int nodes = 1;
  int micro_batch = 0;  ///< sequences per GPU; 0: the largest number that fits
  Job job;
  double published = 0;
  Measure measure = Measure::mfu;
  bool above = false;   ///< whether "more than" this value was published
  bool fitted = false;  ///< whether a constant was fitted to this row
};

/// A plan to make if the command line requests none.
struct Question {
  std::string model;
  int nodes = 1;
  int batch = 0;  ///< sequences per GPU and step, see PlanConstraints
};

struct ModelsFile {
  Cluster cluster;                    ///< without links until link() has read them
  std::vector<std::string> topology;  ///< files or a machine in a line, as Links::read() takes them
  std::string latencies;
  std::vector<Constant> constants;
  std::vector<Model> models;
  std::vector<Row> rows;
  std::vector<Question> questions;

  const Model* model(std::string_view name) const;
  /// Reads the links of `topology`, and takes its numbers of nodes and GPUs. Errors: as Links::read().
  Status link();
};

/// `name` is for errors: "name: rows[2]: sentence". Unknown or missing fields are errors, and so are more
/// than kMostFitted fitted constants; each `speed` of a row other than 1 counts as one.
Result<ModelsFile> parse_models_file(std::string_view name, std::string_view text);

/// Topology files that are named relatively are in the folder of the file.
Result<ModelsFile> read_models_file(const std::string& path);

}  // namespace weir::trainer::plan
