// SPDX-License-Identifier: Apache-2.0
/// Starting one rank as a process of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "src/cli/binding.h"
#include "weir/status.h"

namespace weir::cli {

struct ChildSpec {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;  ///< what differs from this process's
  int rank = 0;
  const Binding* binding = nullptr;
  bool capture = true;  ///< hand out pipes for its output; otherwise it writes where this process does
};

struct Child {
  pid_t pid = -1;
  int out = -1;  ///< pipes, owned by the caller; -1 if not captured
  int err = -1;
};

/// Starts the process as leader of a process group of its own, with an empty standard input and no
/// signal blocked. It is killed when this process dies, however that happens. Fails with what the system
/// says about the program if it cannot be executed. REQUIRES: this process has one thread.
Result<Child> start_child(const ChildSpec& spec);

}  // namespace weir::cli
