/// weir plan: trees for a collective on a topology, how fast they are, and what limits them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "src/cli/sources.h"

namespace weir::cli {

struct PlanArguments {
  Sources sources;
  std::string collective = "allreduce";
  uint64_t bytes = uint64_t{1} << 30;
  std::string ranks;  ///< numbers of GPUs, "0-7,9"; empty: all
  int root = 0;
  bool json = false;
  bool emit = false;
};

void add_plan(CLI::App& app, PlanArguments& arguments);
/// The exit code.
int run_plan(const PlanArguments& arguments);

}  // namespace weir::cli
