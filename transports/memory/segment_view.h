// SPDX-License-Identifier: Apache-2.0
/// A segment (see segment.h) as seen from one address space.
#pragma once

#include <cstddef>

namespace weir {

struct Doorbell;

struct SegmentView {
  Doorbell* doorbell = nullptr;
  std::byte* exchange_area = nullptr;
  size_t exchange_area_bytes = 0;
  std::byte* base = nullptr;  ///< begin of the whole segment, for transports
};

}  // namespace weir
