// SPDX-License-Identifier: Apache-2.0
/// XXH3, 64 bits: detects accidental damage by disks and networks, not deliberate changes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::checkpoint {

uint64_t checksum(const void* data, size_t bytes);

}  // namespace weir::checkpoint
