// SPDX-License-Identifier: Apache-2.0
/// What a transport offers that brings the segments of peers into this address space
/// (Transport::segment_mapper).
///
/// Used by one thread at a time, like its transport.
/// Tests: tests/transports/conformance.cc, tests/transports/shm_test.cc
#pragma once

#include "src/base/bytes.h"
#include "src/base/status.h"
#include "transports/memory/segment_view.h"

namespace weir {

class SegmentMapper {
 public:
  virtual ~SegmentMapper() = default;
  /// The segment of the rank with this transport address. Valid until the transport is destroyed.
  virtual Result<SegmentView> map(BytesView peer_address) = 0;
};

}  // namespace weir
