// SPDX-License-Identifier: Apache-2.0
/// weir run --pretend: starts ranks as if they were on another cluster.
/// Tests: tests/cli/pretend_test.cc
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/cli/rank_processes.h"

namespace weir::cli {

/// Sets what ranks need to pretend that they run on the cluster of a topology file, or of a machine in one
/// line: hosts as large as there, WEIR_PRETEND, weir's libnccl.so.2 unless another one is to be loaded, and
/// the stand-ins of CUDA, with as many GPUs as a host has; for one rank, as many as all hosts have. Errors:
/// those of core::PretendedCluster::read(); invalid_usage if there are fewer devices than ranks.
Status pretend(const std::string& source, LaunchRequest& request);

}  // namespace weir::cli
