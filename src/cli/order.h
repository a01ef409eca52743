// SPDX-License-Identifier: Apache-2.0
/// weir order: the order of ranks that keeps traffic inside leaf switches, as a file for a launcher.
/// Tests: tests/cli/order_test.cc
#pragma once

#include <string>

#include "src/cli/sources.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct OrderArguments {
  Sources sources;
  std::string hosts;  ///< a list of host names such as "node[01-04],node7"; empty: all hosts
  std::string ranks;  ///< numbers of GPUs, such as "0-7,9"; empty: all GPUs of the hosts
  int slots = 0;      ///< ranks per host; 0: as many as the host has GPUs, and at least one
  std::string format = "hostfile";
};

void add_order(CLI::App& app, OrderArguments& arguments);
/// Returns the exit code.
int run_order(const OrderArguments& arguments);

}  // namespace weir::cli
