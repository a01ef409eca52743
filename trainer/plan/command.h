// SPDX-License-Identifier: Apache-2.0
/// `weir-train --plan-only`: its options, and what it does.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace weir::trainer::plan {

struct PlanOptions {
  bool plan_only = false;
  std::string cluster;  ///< file
  std::string model;    ///< of the file; empty: those that it asks for
  int nodes = 0;        ///< 0: as the file says
  int batch = 0;        ///< sequences per GPU and step; 0: any number
};

/// Adds the options to a program's; `options` has to outlive it.
void add_plan_options(CLI::App& app, PlanOptions& options);

/// Prints choice and predictions to stdout, errors to stderr; returns what the program exits with.
int plan_only(const PlanOptions& options);

}  // namespace weir::trainer::plan
