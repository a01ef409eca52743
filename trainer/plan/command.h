// SPDX-License-Identifier: Apache-2.0
/// `weir-train --plan-only`: its options and its implementation.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weir::trainer::plan {

struct PlanOptions {
  bool plan_only = false;
  std::string models;  ///< path of the models file
  std::vector<std::string>
      topology;           ///< topology files, or a machine in a line; empty: those of the models file
  std::string latencies;  ///< as for `weir sim`; empty: those of the models file
  std::string model;      ///< model of the file; empty: the plans that the file lists
  int nodes = 0;          ///< number of nodes; 0: all of the topology
  int batch = 0;          ///< sequences per GPU and step; 0: any number
};

/// Adds the options to a program; `options` must outlive it.
void add_plan_options(CLI::App& app, PlanOptions& options);

/// Prints choice and predictions to stdout, errors to stderr; returns the exit code.
int plan_only(const PlanOptions& options);

}  // namespace weir::trainer::plan
