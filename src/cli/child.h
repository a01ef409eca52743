// SPDX-License-Identifier: Apache-2.0
/// Starts one process of a job.
/// Tests: tests/cli/launcher_test.cc
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/cli/binding.h"

namespace weir::cli {

struct ChildSpec {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>>
      environment;                             ///< variables that differ from this process's environment
  std::vector<std::string> unset;              ///< variables that it does not inherit
  std::shared_ptr<const CoreBinding> binding;  ///< null: none
  int place = 0;                               ///< of the process in `binding`
  bool capture = true;  ///< create pipes for its output; if false, it writes to this process's output
  std::optional<std::string> input;  ///< what its standard input begins with; nullopt: it is empty
};

struct Child {
  pid_t pid = -1;
  int out = -1;  ///< read end of the pipe, owned by the caller; -1 if not captured
  int err = -1;
  int in = -1;  ///< a socket that is its standard input, owned by the caller; -1 if that is empty
};

/// Starts the process as leader of its own process group, with no signal blocked.
/// The kernel kills it when this process dies, for any reason. Fails with the system's error message if the
/// program cannot be executed. REQUIRES: this process has one thread.
Result<Child> start_child(const ChildSpec& spec);

}  // namespace weir::cli
