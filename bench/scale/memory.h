// SPDX-License-Identifier: Apache-2.0
/// What a process takes of the machine.
#pragma once

#include <cstdint>

namespace weir::scale {

/// Bytes, but for the last three. Trivially copyable.
struct Footprint {
  int64_t heap = 0;      ///< allocated and not freed
  int64_t resident = 0;  ///< pages of its own, and its share of those it has in common with others
  int64_t peak = 0;      ///< most resident ever, pages in common counted in full
  int64_t descriptors = 0;
  int64_t mappings = 0;
  int64_t threads = 0;

  Footprint& operator+=(const Footprint& other);
  Footprint operator-(const Footprint& other) const;
};

/// Of this process now, after what was freed has gone back to the system.
Footprint footprint();

}  // namespace weir::scale
