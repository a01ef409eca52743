// SPDX-License-Identifier: Apache-2.0
/// Which nodes of a network play the same part.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// Numbers from 0, by node. Nodes that a symmetry of the network maps onto each other have equal numbers. The
/// converse does not hold: equal numbers are a hint, never a proof.
///
/// Colour refinement (Weisfeiler and Leman, 1968), a few dozen rounds at most.
std::vector<int32_t> colours_of(const Network& network);

}  // namespace weir::algorithms
