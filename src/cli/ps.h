// SPDX-License-Identifier: Apache-2.0
/// weir ps: what the communicators of this host are doing, who waits for whom, and who is behind.
#pragma once

#include <string>
#include <vector>

#include "src/survey/survey.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct PsArguments {
  survey::Request request;
  bool json = false;
};

/// The subcommand ps.
void add_ps(CLI::App& app, PsArguments& arguments);
/// The exit code: 1 where a process does not answer.
int run_ps(PsArguments arguments);

/// For people: a table per communicator, who waits for whom, and how often each rank has begun and ended
/// which operation.
std::string table_of(const survey::CommunicatorView& communicator);

}  // namespace weir::cli
