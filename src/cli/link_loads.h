// SPDX-License-Identifier: Apache-2.0
/// What a schedule puts on the links of a topology, in words.
#pragma once

#include <string>
#include <vector>

#include "src/cli/plan_task.h"

namespace weir::cli {

/// Links of one kind and speed that carry as much as each other.
struct LinkGroup {
  std::string words;    ///< "NVLinks from a GPU to an NVSwitch"
  std::string example;  ///< the first of them: "GPU 0 of n0 -> switch 0 of n0"
  int64_t count = 0;
  double gb_per_s = 0;  ///< of each
  double bytes = 0;     ///< that each carries
  double seconds = 0;   ///< that each needs for them
};

/// The busiest first; those that carry nothing last. Links inside devices, which carry what a cable or a bus
/// does anyway, are left out. `edge_bytes`: by edge of the task's network.
std::vector<LinkGroup> group_links(const PlanTask& task, const std::vector<double>& edge_bytes);

}  // namespace weir::cli
