// SPDX-License-Identifier: Apache-2.0
/// Files that are written at the end of long work, and tried before it begins.
///
/// Thread-safe.
/// Tests: tests/base/output_file_test.cc
#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace weir {

/// Whether a file can be written: opens it, changes nothing, and leaves no new one behind. system_error with
/// the reason: "/no/such/folder/file cannot be written: No such file or directory".
Status try_output_file(const std::string& path);

/// Replaces the content of a file. system_error with the reason, also where the disk is full.
Status write_output_file(const std::string& path, std::string_view text);

}  // namespace weir
