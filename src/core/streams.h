/// The host streams and events of a process, by the pointers that callers hold.
///
/// Thread-safe.
#pragma once

#include "src/device/host_stream.h"
#include "src/device/live_set.h"

namespace weir::core {

struct Streams {
  device::LiveSet<device::HostStream> streams;
  device::LiveSet<device::HostEvent> events;
};

}  // namespace weir::core
