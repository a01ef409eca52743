// SPDX-License-Identifier: Apache-2.0
/// Rings for a task: those that together fill its network.
///
/// Plain functions: thread-safe.
#pragma once

#include <span>
#include <string>

#include "algorithms/rings/pack_rings.h"
#include "src/cli/plan_task.h"

namespace weir::cli {

/// The rings packed into the task's network, as places of `order`. Errors: of algorithms::pack_rings().
Result<algorithms::Rings> rings_of(const PlanTask& task, std::span<const Rank> order);

/// The same as a graph file that NCCL, RCCL and weir read (NCCL_GRAPH_FILE). GPUs go by their numbers in
/// the vendor's library; where one has none, all by their ranks. Errors: of algorithms::pack_rings(), and
/// invalid_argument for ranks that are not GPUs of one host.
Result<std::string> graph_file_of(const PlanTask& task);

}  // namespace weir::cli
