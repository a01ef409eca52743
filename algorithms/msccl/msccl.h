// SPDX-License-Identifier: Apache-2.0
/// Converts plans to and from the XML files of MSCCL, Microsoft's collective runtime.
///
/// A file has thread blocks for every GPU; a block has at most one peer that it sends to and one that it
/// receives from, on a numbered channel, and executes its steps one after the other. Format: planning tools
/// and runtime of github.com/microsoft/msccl-tools and Azure/msccl.
///
/// Pure and thread-safe.
/// Tests: tests/algorithms/msccl_test.cc
#pragma once

#include <string>
#include <string_view>

#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::msccl {

/// A file for in-place and out-of-place calls, within the limits of MSCCL's runtime: at most 64 thread blocks
/// per GPU (lanes share blocks where necessary), 32 channels, 71 chunks per step, and no standstill although
/// channels hold only two chunks. A comment in the file names the limits with which MSCCL must be built where
/// the usual ones are too small. Values that a rank passes on are received and sent in one step if this order
/// allows it, and stored in memory otherwise. REQUIRES: a plan that ir::verify() accepts. Errors:
/// invalid_argument if a GPU has more peers than thread blocks, and for buffers of more than 32,768 chunks.
Result<std::string> write(const ir::Plan& plan);

/// The plan of a file: its steps in an executable order, with channels that hold all messages in flight. A
/// GPU has at most as many lanes as thread blocks; moves that access the same memory of a GPU are in one
/// lane. The plan is well-formed but not proven: ir::verify() it before use. `name` is the file's name, for
/// messages. Errors: invalid_argument, with the line if there is one, for invalid files, steps that do not
/// match, and steps that deadlock.
Result<ir::Plan> read(std::string_view text, std::string_view name);

}  // namespace weir::msccl
