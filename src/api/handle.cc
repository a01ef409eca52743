// SPDX-License-Identifier: Apache-2.0

#include "src/api/handle.h"

#include <fmt/format.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <deque>

#include "src/api/process.h"
#include "src/api/ras.h"

namespace weir::api {

constinit ncclComm slots[kMostCommunicators] = {};
constinit std::atomic<bool> fence_on_entry{true};
constinit std::mutex lifecycle_mutex;

namespace {

/// Number of slots that must be freed after a slot before it is reused, so that stale handles are detected
/// for long.
constexpr size_t kRest = 1024;

/// The slots that may be reused. Guarded by lifecycle_mutex; never destroyed.
struct FreeList {
  size_t fresh = 0;
  std::deque<ncclComm*> resting;
  uint32_t made = 0;
};
FreeList& free_list() {
  static auto* const kList = new FreeList;
  return *kList;
}

/// Registers for membarrier, with which entering needs no fence. The registration is per process and survives
/// fork.
void prepare_barrier() {
  static const bool kReady = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  fence_on_entry.store(!kReady, std::memory_order_relaxed);
}

void pass_barrier_everywhere() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!fence_on_entry.load(std::memory_order_relaxed))
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

ncclComm* take_slot(FreeList& list) {
  if (list.resting.size() > kRest || (list.fresh == kMostCommunicators && !list.resting.empty())) {
    ncclComm* const slot = list.resting.front();
    list.resting.pop_front();
    return slot;
  }
  return list.fresh == kMostCommunicators ? nullptr : &slots[list.fresh++];
}

}  // namespace

Result<ncclComm*> create_handle(std::unique_ptr<core::Communicator> communicator) {
  auto state = std::make_unique<HandleState>();
  std::lock_guard lock(lifecycle_mutex);
  state->ras = ras_server();  // before a slot is taken: it may throw
  prepare_barrier();
  FreeList& list = free_list();
  ncclComm* const slot = take_slot(list);
  if (slot == nullptr) {
    return Status(
        Code::invalid_usage,
        fmt::format("this process has {} communicators already; destroy some first", kMostCommunicators));
  }
  state->communicator = std::move(communicator);
  state->operator_tag = ++list.made;
  slot->core = state->communicator.get();
  slot->state = state.release();
  slot->phase.store(Phase::live, std::memory_order_release);
  return slot;
}

bool mark_finalized(ncclComm* handle) {
  std::lock_guard lock(lifecycle_mutex);
  if (!is_slot(handle) || handle->phase.load(std::memory_order_relaxed) != Phase::live) return false;
  handle->phase.store(Phase::finalized, std::memory_order_relaxed);
  return true;
}

bool begin_close(ncclComm* handle) {
  std::lock_guard lock(lifecycle_mutex);
  if (!is_slot(handle)) return false;
  const Phase phase = handle->phase.load(std::memory_order_relaxed);
  if (phase != Phase::live && phase != Phase::finalized) return false;
  handle->phase.store(Phase::closing, std::memory_order_relaxed);
  pass_barrier_everywhere();
  return true;
}

void wait_until_outside(const ncclComm* handle) {
  for (int looks = 0; handle->inside.load(std::memory_order_acquire) != 0; ++looks) {
    if (looks < 100) {
      sched_yield();
    } else {
      usleep(100);
    }
  }
}

void end_close(ncclComm* handle) {
  wait_until_outside(handle);
  delete handle->state;  // without the lock: this may take long
  std::lock_guard lock(lifecycle_mutex);
  handle->state = nullptr;
  handle->core = nullptr;
  handle->phase.store(Phase::free, std::memory_order_relaxed);
  free_list().resting.push_back(handle);
}

void orphan_handles() {
  const size_t used = free_list().fresh;
  for (size_t i = 0; i < used; ++i) {
    slots[i].inside.store(0, std::memory_order_relaxed);
    if (slots[i].phase.load(std::memory_order_relaxed) != Phase::free)
      slots[i].phase.store(Phase::orphaned, std::memory_order_relaxed);
  }
}

Status explain_no_entry(const ncclComm* handle, const char* function) {
  if (handle == nullptr) return null_argument(function, "comm");
  if (!is_slot(handle)) {
    return {Code::invalid_argument,
            fmt::format("{} : comm argument {} was never a communicator of this library", function,
                        fmt::ptr(handle))};
  }
  switch (handle->phase.load(std::memory_order_relaxed)) {
    case Phase::free:
    case Phase::closing:
      return {Code::invalid_argument,
              fmt::format("{} : comm argument {} is not a live communicator: it was destroyed or aborted",
                          function, fmt::ptr(handle))};
    case Phase::finalized:
      return {Code::invalid_argument,
              fmt::format("{} : comm argument {} was finalized; only ncclCommDestroy and "
                          "ncclCommAbort may follow ncclCommFinalize",
                          function, fmt::ptr(handle))};
    case Phase::orphaned:
      return {Code::invalid_usage,
              fmt::format("{} : comm argument {} belongs to the process that forked this one; a child makes "
                          "communicators of its own, and the parent destroys its",
                          function, fmt::ptr(handle))};
    case Phase::live: break;
  }
  return {Code::invalid_usage,
          fmt::format("{} : another thread is inside a call on comm {}; a communicator is used by one "
                      "thread at a time",
                      function, fmt::ptr(handle))};
}

}  // namespace weir::api
