// SPDX-License-Identifier: Apache-2.0
/// The host streams and events of a process, by the pointers that callers hold; and where a call stands.
///
/// Thread-safe.
#pragma once

#include "src/device/gpu.h"
#include "src/device/host_stream.h"
#include "src/device/live_set.h"

namespace weir::core {

struct Streams {
  device::LiveSet<device::HostStream> streams;
  device::LiveSet<device::HostEvent> events;
};

/// What a call comes after and before: what is queued on a host stream, or on a stream of a GPU (of which
/// null is one). Neither: it is done when the call returns.
struct StreamPlace {
  device::HostStream* host = nullptr;
  bool on_gpu = false;
  device::GpuStream gpu = nullptr;

  bool operator==(const StreamPlace&) const = default;
};

}  // namespace weir::core
