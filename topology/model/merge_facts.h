// SPDX-License-Identifier: Apache-2.0
/// What two descriptions of the same thing say together.
#pragma once

#include <string>

#include "topology/model/graph.h"
#include "weir/status.h"

namespace weir::topology {

/// Fills what `into` does not know from `from`. Errors: invalid_argument where both know something different;
/// the sentence begins with `what`. REQUIRES: both are of one kind.
Status fill(Facts& into, const Facts& from, const std::string& what);

}  // namespace weir::topology
