// SPDX-License-Identifier: Apache-2.0
/// The calling thread's group, between ncclGroupStart and ncclGroupEnd.
///
/// Everything here belongs to the calling thread.
#pragma once

#include <functional>

#include "src/api/handle.h"
#include "weir/status.h"

namespace weir::api {

struct ThreadGroup;

/// The calling thread's group; null outside of one. A plain pointer, so that looking costs next to nothing.
/// (No static TLS: there is little of it for libraries that are loaded late.)
extern constinit thread_local ThreadGroup* open_group;

/// Ends a call that may stand in a group: reports an error, and makes the group end with it.
ncclResult_t finish_error(const Status& status);
inline ncclResult_t finish(const Status& status) {
  if (status.ok()) [[likely]]
    return ncclSuccess;
  return finish_error(status);
}

/// Puts an operation into the open group, for the caller to fill in. The group keeps the stream alive.
/// REQUIRES: `group` is open_group, the calling thread is inside `handle`.
core::Operation& add_to_group(ThreadGroup& group, ncclComm* handle);
/// `stream`: of `place`, or null.
core::Operation& add_to_group(ThreadGroup& group, ncclComm* handle, const core::StreamPlace& place,
                              std::shared_ptr<device::HostStream> stream);

/// A step of set-up that may wait for other ranks: now, or at the end of the open group, side by side with
/// those of other communicators. REQUIRES: the calling thread is inside `handle`, which nobody frees while
/// the step runs.
Status set_up(ncclComm* handle, std::function<Status()> job);

/// Calls body() between a start and an end. The first error of both.
Status run_group(const std::function<Status()>& body);

}  // namespace weir::api
