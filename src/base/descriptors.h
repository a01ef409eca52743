// SPDX-License-Identifier: Apache-2.0
/// The process's limit of open file descriptors.
/// Tests: tests/base/descriptors_test.cc
#pragma once

#include <cstddef>

namespace weir {

/// Raises the soft limit of open files (RLIMIT_NOFILE, often 1024) where needed, up to the hard limit, so
/// that this process may open `more` descriptors beside those that are open now. Never lowers the limit.
/// Children inherit it. Thread-safe; a few system calls.
void allow_descriptors(size_t more);

}  // namespace weir
