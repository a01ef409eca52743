// SPDX-License-Identifier: Apache-2.0
/// Combines two descriptions of the same node.
/// Tests: tests/topology/model_test.cc
#pragma once

#include <string>

#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// Fills unknown fields of `into` from `from`. Errors: invalid_argument if both know different values; the
/// sentence begins with `what`. REQUIRES: both are of one kind.
Status fill(Facts& into, const Facts& from, const std::string& what);

}  // namespace weir::topology
