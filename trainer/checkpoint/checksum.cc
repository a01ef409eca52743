// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir::checkpoint {

uint64_t checksum(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

}  // namespace weir::checkpoint
