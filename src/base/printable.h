// SPDX-License-Identifier: Apache-2.0
/// Text of others (names of hosts and programs, reasons, reports) for a terminal or a log: without control
/// characters, which could move the cursor, rename the window or forge lines, and of bounded length.
///
/// Thread-safe.
/// Tests: tests/base/printable_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

/// Longest text of others that one message contains, and longest name of a host or a program; in bytes.
inline constexpr size_t kMostPrinted = 4096;
inline constexpr size_t kMostPrintedName = 255;

/// `text` with "\x1b" in place of each byte that is not part of a printable character of UTF-8; the controls
/// of the second kind (C1) and those that change the direction of writing are not printable. What would
/// be longer than `most` bytes is cut, and ends with "...".
std::string printable(std::string_view text, size_t most = kMostPrinted);

}  // namespace weir
