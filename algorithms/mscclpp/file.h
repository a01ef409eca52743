// SPDX-License-Identifier: Apache-2.0
/// Reads the JSON of an execution plan of MSCCL++, each element checked by itself.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <string>
#include <string_view>

#include "algorithms/mscclpp/execution_plan.h"
#include "src/base/status.h"

namespace weir::mscclpp {

/// The position of an operation in a file, as the messages of the reader name it.
std::string place_of(std::string_view name, Rank rank, size_t block, size_t operation);

/// Errors: as read(), except for those that only executing the operations shows.
Result<ExecutionPlan> read_file(std::string_view text, std::string_view name);

}  // namespace weir::mscclpp
