// SPDX-License-Identifier: Apache-2.0
/// The whole proof of a plan: what it computes, and that its programs neither race nor come to a standstill.
/// Tests: tests/exec/check_test.cc
#pragma once

#include <cstdint>

#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::exec {

/// Messages that a channel holds where nothing else is said.
inline constexpr uint32_t kProvenSlots = 2;

/// Success where ir::verify() accepts the plan and check() the programs of its ranks, apart and in place,
/// with channels of `slots` messages; else invalid_argument with the first thing that is wrong. Pure and
/// thread-safe.
Status prove(const ir::Plan& plan, uint32_t slots = kProvenSlots);

}  // namespace weir::exec
