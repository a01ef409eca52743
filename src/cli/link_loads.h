// SPDX-License-Identifier: Apache-2.0
/// Loads of a schedule on the links of a topology, as text.
/// Tests: tests/cli/plan_test.cc
#pragma once

#include <string>
#include <vector>

#include "src/cli/plan_task.h"

namespace weir::cli {

/// Links of one kind and speed that carry the same number of bytes.
struct LinkGroup {
  std::string words;    ///< "NVLinks from a GPU to an NVSwitch"
  std::string example;  ///< first link of the group, such as "GPU 0 of n0 -> switch 0 of n0"
  int64_t count = 0;
  double gb_per_s = 0;  ///< capacity of each link
  double bytes = 0;     ///< bytes on each link
  double seconds = 0;   ///< time that each link needs for its bytes
};

/// The busiest group first, groups without traffic last. Links inside devices are omitted, because a cable or
/// bus carries the same bytes. `edge_bytes`: bytes on each edge of the task's network.
std::vector<LinkGroup> group_links(const PlanTask& task, const std::vector<double>& edge_bytes);

}  // namespace weir::cli
