// SPDX-License-Identifier: Apache-2.0
/// Converts plans to and from the execution plans of MSCCL++, Microsoft's communication library: JSON files
/// that its executor reads (release 0.9.0; execution_plan.h).
///
/// Pure and thread-safe.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::mscclpp {

struct WriteOptions {
  std::vector<int> hosts = {};  ///< index: rank; the number of its host; empty: all ranks are on one host
  bool in_place = false;  ///< mark the plan for calls in place: MSCCL++ selects a plan for one kind of calls
};

/// An execution plan that is correct in place (if the collective allows it) and out of place. Received data
/// is written into scratch memory or the output as soon as the receiver's kernel runs; no block ever waits
/// for memory to become free. REQUIRES: a plan that ir::verify() accepts. Errors: invalid_argument for what
/// the executor cannot run: collectives with a root, several hosts whose ranks are not equally many and
/// consecutive, more than 8 ranks on each of several hosts, and plans that need more than 64 thread blocks of
/// 64 operations.
Result<std::string> write(const ir::Plan& plan, const WriteOptions& options);

/// The plan of a file: its operations in an executable order. Every access to memory is checked against all
/// others: without a chain of signals, semaphores and synchronized threads that orders two accesses of a
/// chunk, one of them writing, the file is an error. The plan is well-formed but not proven: ir::verify() it
/// before use. `name` is the file's name, for messages. Errors: invalid_argument, with the place in the file,
/// for invalid files, operations that weir does not know (packets, switch channels, pipelines), operations
/// that deadlock, and unordered accesses.
Result<ir::Plan> read(std::string_view text, std::string_view name);

}  // namespace weir::mscclpp
