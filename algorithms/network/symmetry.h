// SPDX-License-Identifier: Apache-2.0
/// Determines which nodes of a network are equivalent.
/// Tests: tests/algorithms/network_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// A colour for each node, from 0. Nodes that a symmetry of the network maps onto each other have equal
/// colours. The converse does not hold: equal colours are a hint, never a proof.
///
/// Colour refinement (Weisfeiler and Leman, 1968), a few dozen rounds at most.
std::vector<int32_t> colours_of(const Network& network);

}  // namespace weir::algorithms
