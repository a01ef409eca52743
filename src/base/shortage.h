// SPDX-License-Identifier: Apache-2.0
/// Failed calls of the system as errors, with advice where a limit of this process or its host is the cause.
///
/// Thread-safe.
/// Tests: tests/base/shortage_test.cc
#pragma once

#include <string>

#include "src/base/status.h"

namespace weir {

/// Whether `error` (an errno) means that this process or its host has no more descriptors or memory.
bool is_shortage(int error);

/// The text of `error`, which for a shortage names the limit and what to do.
std::string system_words(int error);

/// system_error "`what`: the text of `error`"; a shortage (Status::shortage) where it is one.
Status system_failure(const std::string& what, int error);

}  // namespace weir
