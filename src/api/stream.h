// SPDX-License-Identifier: Apache-2.0
/// Streams, for the rest of the C interface.
///
/// Thread-safe.
/// Tests: tests/api/stream_test.cc
#pragma once

#include <initializer_list>
#include <memory>

#include "src/base/status.h"
#include "src/core/call/streams.h"
#include "src/core/communicator/communicator.h"

namespace weir::api {

/// The process's streams: made on first use and never destroyed, as an application's threads may outlive
/// static destructors.
core::Streams& streams();

/// The host stream of a caller's handle, which may be any pointer; null for NULL. The result keeps the stream
/// alive. invalid_argument if it is not a host stream (any more).
Result<std::shared_ptr<device::HostStream>> host_stream(const void* handle, const char* function);

/// The place of a call with this stream on these addresses: a stream of a GPU if `handle` is one, or if it is
/// NULL and one of the addresses is GPU or pinned memory. Sets `keeps` to what keeps a host stream alive.
/// invalid_argument if this communicator cannot use the stream.
Result<core::StreamPlace> place_of(const core::Communicator& communicator, void* handle,
                                   std::initializer_list<const void*> addresses, const char* function,
                                   std::shared_ptr<device::HostStream>& keeps);

}  // namespace weir::api
