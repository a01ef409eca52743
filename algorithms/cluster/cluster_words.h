// SPDX-License-Identifier: Apache-2.0
/// Plans for many hosts as text and figures.
/// Tests: tests/algorithms/cluster_test.cc
#pragma once

#include <string>

#include "algorithms/cluster/cluster_plan.h"

namespace weir::algorithms {

/// The maximum number of different trees for foreign blocks in one host; and the maximum number of edges
/// between a root and a rank there.
size_t trees_in_hosts(const ClusterPlan& plan);
int height_in_hosts(const ClusterPlan& plan);

/// A text like "in hosts 8 trees, between hosts rings over 8 rails, leaf by leaf".
std::string words_of(const ClusterPlan& plan);

}  // namespace weir::algorithms
