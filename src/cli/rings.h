// SPDX-License-Identifier: Apache-2.0
/// The rings that together fill the network of a task.
///
/// Plain functions: thread-safe.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <string>

#include "src/cli/plan_task.h"

namespace weir::cli {

/// The rings packed into the task's network, as a graph file for NCCL, RCCL and weir (NCCL_GRAPH_FILE). GPUs
/// are numbered as in the vendor's library; if any GPU has no such number, all by their ranks. Errors: those
/// of algorithms::pack_rings(), and invalid_argument for ranks that are not GPUs of one host.
Result<std::string> graph_file_of(const PlanTask& task);

}  // namespace weir::cli
