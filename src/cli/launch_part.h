// SPDX-License-Identifier: Apache-2.0
/// What weir run --hosts tells a host by the standard input of its remote shell: not on a command line, which
/// others can read.
/// Tests: tests/cli/remote_launch_test.cc
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/cli/rank_processes.h"

namespace weir::cli {

/// The request as a message, with this process's folder and its variables for weir, NCCL, PyTorch and Python.
/// REQUIRES: comm_id is given, and host is one of host_ranks.
std::string part_of(const LaunchRequest& request);

/// The request of a message that is read from `input`, whose policy's orders are what follows there. Changes
/// to its folder and sets those variables. REQUIRES: this process has one thread. Errors: invalid_argument.
Result<LaunchRequest> read_part(int input);

}  // namespace weir::cli
