// SPDX-License-Identifier: Apache-2.0
/// Documents in JSON lines: each line is an object with the document as its field "text".
/// Tests: tests/trainer/json_lines_test.cc
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace weir::trainer {

/// Calls visit(text) for each document, in order; empty lines are skipped. Ends with the first error, also
/// that of `visit`: system_error if the file cannot be read, invalid_argument with path and line if a line is
/// something else.
Status for_each_document(const std::string& path, const std::function<Status(std::string_view)>& visit);

}  // namespace weir::trainer
