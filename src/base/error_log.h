// SPDX-License-Identifier: Apache-2.0
/// The sentences of errors, which become last_error(). Warnings do not: what is set wrongly, or is slower
/// than it could be, is not why something has failed.
///
/// Thread-safe.
/// Tests: tests/base/log_test.cc
#pragma once

#include <source_location>
#include <string_view>

namespace weir {

/// Logs the sentence as a WARN line, and keeps it as the last error of the process, whether lines are printed
/// or not.
void log_error(std::string_view sentence,
               const std::source_location& place = std::source_location::current());

}  // namespace weir
