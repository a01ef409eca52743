// SPDX-License-Identifier: Apache-2.0
/// Checks callers' buffers before they are used. Thread-safe.
/// Tests: tests/library/mistakes_test.cc
#pragma once

#include <cstddef>

#include "src/base/status.h"

namespace weir::api {

/// invalid_argument if the first or the last byte is not memory of this process. Costs a system call. Success
/// if the system does not permit the check.
Status check_buffer(const char* function, const char* name, const void* buffer, size_t bytes);

}  // namespace weir::api
