// SPDX-License-Identifier: Apache-2.0
/// `weir-train --plan-only`: its options and its implementation.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace weir::trainer::plan {

struct PlanOptions {
  bool plan_only = false;
  std::string cluster;  ///< path of the cluster file
  std::string model;    ///< model of the cluster file; empty: the plans that the file lists
  int nodes = 0;        ///< number of nodes; 0: as in the file
  int batch = 0;        ///< sequences per GPU and step; 0: any number
};

/// Adds the options to a program; `options` must outlive it.
void add_plan_options(CLI::App& app, PlanOptions& options);

/// Prints choice and predictions to stdout, errors to stderr; returns the exit code.
int plan_only(const PlanOptions& options);

}  // namespace weir::trainer::plan
