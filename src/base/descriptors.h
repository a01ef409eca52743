// SPDX-License-Identifier: Apache-2.0
/// Room for file descriptors.
#pragma once

#include <cstddef>

namespace weir {

/// Sees to it that this process may open `more` descriptors than it has open now, as far as its hard limit
/// goes: raises the soft limit (RLIMIT_NOFILE, often 1024) where that is too low, and never lowers it.
/// Children inherit it. Thread-safe; a few system calls.
void allow_descriptors(size_t more);

}  // namespace weir
