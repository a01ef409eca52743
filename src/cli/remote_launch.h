// SPDX-License-Identifier: Apache-2.0
/// weir run on several hosts: a remote shell on each starts weir run there with its part of the ranks. What
/// it has to do, the secret of the job too, comes by the standard input of the remote shell, not on a command
/// line that others can read; signals follow as single bytes, and its end ends the ranks.
/// Tests: tests/cli/remote_launch_test.cc, tests/netlab/hosts_test.py
#pragma once

#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/cli/host_list.h"
#include "src/cli/launcher.h"
#include "src/cli/rank_processes.h"

namespace weir::cli {

constexpr const char* kRemoteShell = "ssh -T -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15";

/// The remote shells, one per host. Ranks are numbered in the order of the hosts. They get this process's
/// variables for weir, NCCL, PyTorch and Python, its folder, and request.comm_id, or the first host's address
/// and a random port. Errors: invalid_argument if that address is not known or leads nowhere from other
/// hosts.
Result<std::vector<LaunchedProcess>> host_processes(LaunchRequest request,
                                                    const std::vector<HostRanks>& hosts,
                                                    std::string_view remote_shell);

}  // namespace weir::cli
