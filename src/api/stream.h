/// What the rest of the C interface must know of streams.
///
/// Thread-safe.
#pragma once

#include <memory>

#include "src/core/streams.h"
#include "weir/status.h"

namespace weir::api {

/// Made on first use, never destroyed: threads of the application may outlive static destructors.
core::Streams& streams();

/// The host stream behind a pointer that a caller passed as a stream, whatever it points to; null for NULL.
/// Whoever keeps it keeps the stream alive. invalid_argument when it is no host stream (any more).
Result<std::shared_ptr<device::HostStream>> host_stream(const void* handle, const char* function);

}  // namespace weir::api
