// SPDX-License-Identifier: Apache-2.0
/// The host streams and events of a process, by the pointers that callers hold, and the stream of a call.
///
/// Thread-safe.
/// Tests: tests/core/staged_test.cc, tests/core/device_collectives_test.cc
#pragma once

#include "src/device/gpu.h"
#include "src/device/host_stream.h"
#include "src/device/live_set.h"

namespace weir::core {

struct Streams {
  device::LiveSet<device::HostStream> streams;
  device::LiveSet<device::HostEvent> events;
};

/// The stream on which a call is queued: a host stream, or a stream of a GPU (null is a valid one). Neither:
/// the call is synchronous.
struct StreamPlace {
  device::HostStream* host = nullptr;
  bool on_gpu = false;
  device::GpuStream gpu = nullptr;

  bool operator==(const StreamPlace&) const = default;
};

}  // namespace weir::core
