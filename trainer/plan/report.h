// SPDX-License-Identifier: Apache-2.0
/// The output of `weir-train --plan-only`.
///
/// Thread safety: as links.h.
#pragma once

#include <string>

#include "trainer/plan/choose.h"
#include "trainer/plan/models_file.h"

namespace weir::trainer::plan {

/// The cluster in a few lines, with the origins of its constants.
std::string describe(const ModelsFile& file);

/// The choice, its prediction, the bound of its largest gather, the reason, and the best plan of each
/// strategy. Errors: as Links::seconds() and Links::bound().
Result<std::string> describe(const Ranking& ranking, const Model& model, const Cluster& cluster);

/// Published figures with predictions; empty if there are no rows. An error names the row.
Result<std::string> published_table(const ModelsFile& file);

}  // namespace weir::trainer::plan
