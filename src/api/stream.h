// SPDX-License-Identifier: Apache-2.0
/// What the rest of the C interface must know of streams.
///
/// Thread-safe.
#pragma once

#include <initializer_list>
#include <memory>

#include "src/core/call/streams.h"
#include "src/core/communicator/communicator.h"
#include "weir/status.h"

namespace weir::api {

/// Made on first use, never destroyed: threads of the application may outlive static destructors.
core::Streams& streams();

/// The host stream behind a pointer that a caller passed as a stream, whatever it points to; null for NULL.
/// Whoever keeps it keeps the stream alive. invalid_argument when it is no host stream (any more).
Result<std::shared_ptr<device::HostStream>> host_stream(const void* handle, const char* function);

/// Where a collective stands that was called with this stream on these addresses: on a stream of a GPU if it
/// is one, or if it is NULL and one of the addresses is memory of a GPU or pinned. `keeps` is set to what
/// keeps a host stream alive. invalid_argument when the stream is none that this communicator can use.
Result<core::StreamPlace> place_of(const core::Communicator& communicator, void* handle,
                                   std::initializer_list<const void*> addresses, const char* function,
                                   std::shared_ptr<device::HostStream>& keeps);

}  // namespace weir::api
