// SPDX-License-Identifier: Apache-2.0
/// weir ps: the state of this host's communicators, which ranks wait for which, and which are behind.
/// Tests: tests/cli/ps_test.cc
#pragma once

#include <string>
#include <vector>

#include "src/survey/survey.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct PsArguments {
  survey::SurveyRequest request;
  bool json = false;
};

void add_ps(CLI::App& app, PsArguments& arguments);
/// Returns the exit code: 1 if a process does not answer. Processes that keep their reports for themselves
/// are no failure; a sentence counts them.
int run_ps(PsArguments arguments);

/// A table for one communicator as text: states, waiting ranks, and the numbers of operations that each rank
/// has begun and ended.
std::string table_of(const survey::CommunicatorView& communicator);

}  // namespace weir::cli
