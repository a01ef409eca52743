// SPDX-License-Identifier: Apache-2.0
/// The plans of WEIR_PLAN_FILE: read and proven by rank 0, which sends them to all ranks of a communicator.
///
/// A file has one plan, as weir's text (docs/plan-format.md) or as MSCCL's XML. Of a folder, all files that
/// end in .plan or .xml count, in the order of their names; if it has a folder with the communicator's name
/// (ncclConfig_t::commName), that one counts instead. Plans for other numbers of ranks are left out.
/// Thread-safe.
/// Tests: tests/core/plan_files_test.cc, tests/library/loaded_plans_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "algorithms/ir/loaded_plan.h"
#include "src/base/bytes.h"
#include "src/base/status.h"
#include "src/base/sum_order.h"

namespace weir::core {

/// The plans below `path` for `ranks`. `slots`: messages that a channel holds. Logs each plan that it takes
/// or leaves out. Errors, with the file: it cannot be read, it has no plan, its plan is wrong (with the
/// number of the move), or it does not sum in the order.
Result<ir::LoadedPlans> read_plan_files(const std::string& path, const std::string& communicator, int ranks,
                                        uint32_t slots, SumOrder order = SumOrder::run);

/// The plan of one file; well-formed, not proven. Errors: as above.
Result<ir::LoadedPlan> read_plan_file(const std::string& file);

/// What rank 0 has read, or why it could not, as bytes for all ranks, and the reverse. Errors of
/// decode_plans(): that of the reading, and remote_error for bytes that encode_plans() cannot have made.
Bytes encode_plans(const Result<ir::LoadedPlans>& read);
Result<ir::LoadedPlans> decode_plans(BytesView bytes);

}  // namespace weir::core
