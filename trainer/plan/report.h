// SPDX-License-Identifier: Apache-2.0
/// The output of `weir-train --plan-only`.
///
/// Thread safety: pure functions.
#pragma once

#include <string>

#include "trainer/plan/choose.h"
#include "trainer/plan/cluster_file.h"

namespace weir::trainer::plan {

/// The cluster in a few lines, with the origins of its constants.
std::string describe(const ClusterFile& file);

/// The choice, its prediction, the reason, and the best plan of each strategy.
std::string describe(const Ranking& ranking, const Model& model, const Cluster& cluster);

/// Published figures with predictions; empty if there are no rows. An error names the row's line.
Result<std::string> published_table(const ClusterFile& file);

}  // namespace weir::trainer::plan
