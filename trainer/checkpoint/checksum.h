// SPDX-License-Identifier: Apache-2.0
/// XXH3 with 64 bits: finds what disks and networks do to files, not what an enemy does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::checkpoint {

uint64_t checksum(const void* data, size_t bytes);

}  // namespace weir::checkpoint
