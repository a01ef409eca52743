// SPDX-License-Identifier: Apache-2.0
/// Resources of a process.
#pragma once

#include <cstdint>

namespace weir::scale {

/// Bytes, except for the last three, which are counts. Trivially copyable.
struct Footprint {
  int64_t heap = 0;      ///< bytes allocated and not freed
  int64_t resident = 0;  ///< private pages, and the process's share of shared pages
  int64_t peak = 0;      ///< largest resident size so far, with shared pages counted fully
  int64_t descriptors = 0;
  int64_t mappings = 0;
  int64_t threads = 0;

  Footprint& operator+=(const Footprint& other);
  Footprint operator-(const Footprint& other) const;
};

/// Resources of this process now, after freed memory was returned to the system.
Footprint footprint();

}  // namespace weir::scale
