// SPDX-License-Identifier: Apache-2.0
/// Which thread blocks of MSCCL++ carry out which moves of a plan.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "algorithms/ir/plan.h"
#include "algorithms/mscclpp/values.h"
#include "algorithms/mscclpp/waits.h"

namespace weir::mscclpp {

/// How work is divided: lanes whose numbers are equal modulo `lanes` share blocks, and a block takes work as
/// long as its operations are estimated to be at most `operations`.
struct WorkDivision {
  int lanes = ir::kMaxLanes;
  size_t operations = kMostOperations;
};

/// The blocks of a plan; only `block` and `blocks` are set.
BlockPlacement place(const ir::Plan& plan, const msccl::WorkOrder& order, const Values& values,
                     std::span<const int> hosts, WorkDivision division);

}  // namespace weir::mscclpp
