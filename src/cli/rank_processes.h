// SPDX-License-Identifier: Apache-2.0
/// The ranks that weir run starts on this machine.
/// Tests: tests/cli/launcher_test.cc
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/cli/binding.h"
#include "src/cli/launcher.h"

namespace weir::cli {

struct LaunchRequest {
  std::vector<std::string> command;
  int ranks = 1;
  int nodes = 1;  ///< more than 1: simulates that many hosts with equal shares of the ranks (NCCL_HOSTID)
  std::vector<int> host_ranks;  ///< number of ranks of each host (LOCAL_RANK); empty: all are on one
  int host = -1;                ///< of host_ranks, the one whose ranks are started; -1: those of all
  std::vector<std::pair<std::string, std::string>> environment;  ///< further variables of all ranks
  BindMode bind = BindMode::automatic;
  LaunchPolicy policy;
  bool plain = false;  ///< pass output on unchanged, without the prefix "[rank] "
  std::optional<std::string>
      comm_id;          ///< NCCL_COMM_ID; nullopt: a free port of the loopback interface; empty: unset
  std::string preload;  ///< library for LD_PRELOAD; empty: none
  std::string heap;     ///< another one, loaded before it; empty: none
  std::vector<std::string> stand_ins;  ///< further ones, loaded last: stand-ins of a vendor's libraries
};

/// Each rank has RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and NCCL_COMM_ID,
/// and WEIR_SECRET with random_secret(). REQUIRES: 1 <= nodes <= ranks; host_ranks, if any, add up to ranks.
Result<std::vector<LaunchedProcess>> rank_processes(const LaunchRequest& request);

/// Random bits in hexadecimal digits for ranks whose address weir run chooses; empty if they have a secret
/// already, or if the address is given: then others may join, who do not know it.
Result<std::string> random_secret(const LaunchRequest& request);

/// Two ports of the loopback interface on which nobody listens now.
Result<std::pair<int, int>> free_ports();

}  // namespace weir::cli
