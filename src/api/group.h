// SPDX-License-Identifier: Apache-2.0
/// The calling thread's group, between ncclGroupStart and ncclGroupEnd.
///
/// Everything here belongs to the calling thread.
/// Tests: tests/api/group_test.cc
#pragma once

#include <concepts>
#include <functional>
#include <utility>

#include "src/api/handle.h"
#include "src/base/exception.h"
#include "src/base/status.h"

namespace weir::api {

struct ThreadGroup;

/// The calling thread's group; null outside of one. A plain pointer, so that checking it is cheap. (Not in
/// static TLS, which is scarce for libraries that are loaded late.)
extern constinit thread_local ThreadGroup* open_group;

/// Ends a call that may be part of a group: reports an error, and makes the group return it.
ncclResult_t finish_error(const Status& status) noexcept;
inline ncclResult_t finish(const Status& status) {
  if (status.ok()) [[likely]]
    return ncclSuccess;
  return finish_error(status);
}
/// The same for what `call` returns. No exception leaves it; one is reported as an error.
template <std::invocable Call>
ncclResult_t finish(Call&& call) {
  return finish(guarded(std::forward<Call>(call)));
}

/// Adds an operation without a stream to the open group. REQUIRES: `group` is open_group, the calling thread
/// is inside `handle`.
void add_to_group(ThreadGroup& group, ncclComm* handle, core::Operation&& operation);
/// Carries an operation out, or adds it to the open group if there is one, which keeps the stream alive.
/// `stream`: the host stream of `place`, or null. REQUIRES: the calling thread is inside `handle`.
Status run_or_add(ncclComm* handle, core::Operation&& operation, const core::StreamPlace& place,
                  std::shared_ptr<device::HostStream> stream);

/// Runs a set-up step that may wait for other ranks: now, or, in a group, at its end, in parallel with the
/// steps of other communicators. REQUIRES: the calling thread is inside `handle`, which is not freed while
/// the step runs.
Status set_up(ncclComm* handle, std::function<Status()> job);

/// Calls body() between the start and the end of a group. Returns the first error of body() and the end.
Status run_group(const std::function<Status()>& body);

}  // namespace weir::api
