// SPDX-License-Identifier: Apache-2.0
/// Looks at buffers of callers before they are used. Thread-safe.
#pragma once

#include <cstddef>

#include "weir/status.h"

namespace weir::api {

/// invalid_argument where the first or the last of the bytes is no memory of this process. Costs a system
/// call. Success where the system does not let the process look.
Status check_buffer(const char* function, const char* name, const void* buffer, size_t bytes);

}  // namespace weir::api
