// SPDX-License-Identifier: Apache-2.0
/// Plans as the XML files of MSCCL, Microsoft's collective runtime, and back.
///
/// A file has, for every GPU, thread blocks; a block has at most one peer that it sends to and one that it
/// receives from, on a numbered channel, and does its steps one after the other. Format: planning tools and
/// runtime of github.com/microsoft/msccl-tools and Azure/msccl.
///
/// Pure and thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "algorithms/ir/plan.h"
#include "weir/status.h"

namespace weir::msccl {

/// A file for in-place and out-of-place calls. Values that a rank hands on are received and sent in one step
/// where channels allow that, and kept in scratch where they do not. REQUIRES: a plan that ir::verify()
/// accepts. Errors: invalid_argument for a value that is still handed on after its place was overwritten.
Result<std::string> write(const ir::Plan& plan);

/// The plan of a file: its steps in an order in which they can be done, with channels that hold everything
/// that is under way. Each thread block becomes a lane. The plan is well-formed, not proved: ir::verify() it
/// before use. `name` is the file's, for messages. Errors: invalid_argument, with the line where there is
/// one, for what is not such a file, steps that do not fit together, and steps that wait for each other for
/// ever.
Result<ir::Plan> read(std::string_view text, std::string_view name);

}  // namespace weir::msccl
