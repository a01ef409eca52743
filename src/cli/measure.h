// SPDX-License-Identifier: Apache-2.0
/// weir measure: detects which hosts share a leaf switch, from latency and bandwidth between them.
/// Tests: tests/topology/measure_test.py, tests/cli/measure_test.cc
#pragma once

#include <string>

#include "src/cli/measure_network.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct MeasureArguments {
  MeasurePlan plan;
  std::string out;  ///< path of the fabric file; empty: none is written
};

void add_measure(CLI::App& app, MeasureArguments& arguments);
/// Returns the exit code.
int run_measure(const MeasureArguments& arguments);

}  // namespace weir::cli
