// SPDX-License-Identifier: Apache-2.0
/// weir verify: proves that plans in files are correct.
/// Tests: tests/cli/schedule_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/exec/plan_proof.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct VerifyArguments {
  std::vector<std::string> files;
  std::vector<std::string> topology;    ///< files or descriptions; empty: ways of moves are not checked
  std::string ranks;                    ///< numbers of GPUs of the topology, as PlanTaskArguments::ranks
  uint32_t slots = exec::kProvenSlots;  ///< slots of each channel
};

void add_verify(CLI::App& app, VerifyArguments& arguments);
/// Returns the exit code: 0 all plans are correct, 1 a plan is wrong, 2 a file cannot be read.
int run_verify(const VerifyArguments& arguments);

}  // namespace weir::cli
