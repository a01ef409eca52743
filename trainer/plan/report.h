// SPDX-License-Identifier: Apache-2.0
/// What `weir-train --plan-only` prints.
///
/// Thread safety: pure functions.
#pragma once

#include <string>

#include "trainer/plan/choose.h"
#include "trainer/plan/cluster_file.h"

namespace weir::trainer::plan {

/// The cluster in a few lines, with where its constants come from.
std::string describe(const ClusterFile& file);

/// The choice, what is predicted for it, why, and the best of all strategies.
std::string describe(const Ranking& ranking, const Model& model, const Cluster& cluster);

/// Published figures beside predictions; empty without rows. An error names the row's line.
Result<std::string> published_table(const ClusterFile& file);

}  // namespace weir::trainer::plan
