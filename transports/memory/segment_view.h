// SPDX-License-Identifier: Apache-2.0
/// A segment (segment.h) as mapped in one address space.
/// Tests: tests/transports/segment_test.cc
#pragma once

#include <cstddef>

namespace weir {

struct Doorbell;

struct SegmentView {
  Doorbell* doorbell = nullptr;
  std::byte* exchange_area = nullptr;
  size_t exchange_area_bytes = 0;
  std::byte* base = nullptr;  ///< first byte of the segment, for transports
};

}  // namespace weir
