// SPDX-License-Identifier: Apache-2.0
/// The rings that together fill the network of a task.
///
/// Plain functions: thread-safe.
/// Tests: tests/cli/rings_test.cc
#pragma once

#include <string>

#include "src/cli/plan_task.h"

namespace weir::cli {

/// The rings packed into the task's network, as a graph file for NCCL, RCCL and weir (NCCL_GRAPH_FILE). GPUs
/// are numbered as in the vendor's library; if any GPU has no such number, by their positions. NCCL reads a
/// file per host: where the ranks are on several hosts, `host` names the one whose rings are written, from
/// NIC to NIC. Errors: those of algorithms::pack_rings() and rings_between_nics(), and invalid_argument for
/// ranks that are not GPUs, for several hosts without a name, and for a name that no host has.
Result<std::string> graph_file_of(const PlanTask& task, const std::string& host);

}  // namespace weir::cli
