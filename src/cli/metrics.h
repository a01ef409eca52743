// SPDX-License-Identifier: Apache-2.0
/// weir metrics: the state of this host's communicators in Prometheus's text format, printed once or served
/// by HTTP.
/// Tests: tests/cli/metrics_test.cc
#pragma once

#include <string>
#include <vector>

#include "src/survey/stragglers.h"
#include "src/survey/survey.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct MetricsArguments {
  survey::SurveyRequest request;
  std::string listen;  ///< "9477" (loopback only) or "0.0.0.0:9477"; empty: print once
  std::string out;     ///< path of the file to replace; empty: standard output
};

void add_metrics(CLI::App& app, MetricsArguments& arguments);
/// Returns the exit code.
int run_metrics(MetricsArguments arguments);

/// Prometheus's text exposition format, version 0.0.4. Names that begin with nccl_ are those of the
/// Prometheus output of NCCL's inspector, a profiler plugin (NVIDIA/nccl, ext-profiler/inspector), with its
/// labels except those that would create a new series for each operation.
std::string metrics_of(const std::vector<survey::QueriedProcess>& asked,
                       const survey::Stragglers& stragglers);

}  // namespace weir::cli
