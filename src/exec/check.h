// SPDX-License-Identifier: Apache-2.0
/// Proves that the programs of all ranks together are correct, with the real number of slots.
///
/// Lanes over bounded FIFOs without "receive from anyone" are a Kahn network: what they compute, and whether
/// they deadlock, does not depend on timing. So one symbolic run decides sums, completeness and deadlock, and
/// a vector clock per lane finds races: two accesses to the same chunk, one of them a write, that no message
/// orders.
/// Tests: tests/exec/check_test.cc
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/ir/symbolic.h"
#include "src/base/status.h"
#include "src/exec/program.h"

namespace weir::exec {

struct CheckOptions {
  uint32_t slots = 4;   ///< number of slots per channel
  uint32_t passes = 3;  ///< number of passes to run; enough to include every reuse of scratch and slots
  ir::Placement placement = ir::Placement::apart;
};

/// Success, or invalid_argument that names the incorrect rank, lane and step. REQUIRES: one program per rank
/// of one shape, in rank order. Pure and thread-safe.
Status check(std::span<const Program> programs, const CheckOptions& options);

}  // namespace weir::exec
