// SPDX-License-Identifier: Apache-2.0
/// The target of an ncclComm_t: a slot in an array that is never unmapped, so that any pointer can be checked
/// safely, even one that was freed long ago.
///
/// A call enters a communicator and leaves it again (HandleGuard). To free a communicator, a thread first
/// closes it, which waits until no thread is inside. Entering costs two stores and two loads. Freed slots
/// wait in a queue before they are reused.
///
/// Shared words of a slot: `phase` is written by the functions that create, finalize and close; `inside` by
/// the one thread that is in a call.
/// Tests: tests/api/handle_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/api/abi.h"
#include "src/base/status.h"
#include "src/core/call/registration.h"
#include "src/core/communicator/communicator.h"
#include "src/core/communicator/selected_plans.h"
#include "src/core/grains/tree_sums.h"
#include "src/core/quantized/quantized_collectives.h"
#include "src/survey/ras_server.h"

namespace weir::api {

/// `orphaned`: the communicator belongs to the process that forked this one.
enum class Phase : uint32_t { free, live, finalized, closing, orphaned };

/// An operator made by ncclRedOpCreatePreMulSum.
struct Operator {
  bool live = false;
  DataType type = DataType::float32;
  const void* source = nullptr;  ///< ncclScalarDevice: address at which each call reads the factor
  device::Scalar factor = {};
};

/// Memory that the user registered with ncclCommWindowRegister; the target of an ncclWindow_t.
struct Window {
  uint32_t number = 0;  ///< number of its window
  void* data = nullptr;
  size_t bytes = 0;
  std::unique_ptr<core::Registration> registration;  ///< null: peers cannot map it
};

/// A communicator and its state in the C interface; used only by the thread inside it, except `registrations`
/// and `windows`, which look_at() guards.
struct HandleState {
  std::unique_ptr<core::Communicator> communicator;
  std::vector<Operator> operators;
  std::vector<std::unique_ptr<core::Registration>> registrations;
  std::vector<std::unique_ptr<Window>> windows;
  /// Splits of a non-blocking communicator in which this rank takes part without being in the result.
  std::vector<std::unique_ptr<core::Communicator>> bystanders;
  std::unique_ptr<core::SelectedPlans> selected_plans;  ///< plans that calls asked for; null: none yet
  std::shared_ptr<core::FloatPool> grain_arrays;        ///< pool for its sums over grains; null: not used yet
  std::shared_ptr<core::BytePool> encoded_arrays;       ///< pool for quantized collectives; null: as above
  /// By ncclCommGetUniqueId, for the next ncclCommGrow; guarded as above.
  std::optional<ncclUniqueId> given_id;
  uint32_t operator_tag = 0;  ///< part of its operators' numbers, by which those of others are detected
  std::shared_ptr<survey::RasServer> ras;  ///< the process's RAS port; null: it has none
  int device = 0;
  uint64_t group = 0;                             ///< number of the last group that used it
  mutable std::atomic<bool> said_failure{false};  ///< ncclCommGetAsyncError has logged why it failed
};

}  // namespace weir::api

struct alignas(64) ncclComm {
  std::atomic<weir::api::Phase> phase;
  std::atomic<uint32_t> inside;
  weir::core::Communicator* core;
  weir::api::HandleState* state;
};

namespace weir::api {

inline constexpr size_t kMostCommunicators = 16384;
extern ncclComm slots[kMostCommunicators];
/// True on kernels without membarrier: entering then needs a full fence.
extern std::atomic<bool> fence_on_entry;
/// Held while a phase changes, and during look_at().
extern std::mutex lifecycle_mutex;

/// A live slot for the communicator, with no thread inside. invalid_usage if all slots are in use.
Result<ncclComm*> create_handle(std::unique_ptr<core::Communicator> communicator);

/// Forbids all further calls except look_at(), closing and freeing. False: it was not live.
bool mark_finalized(ncclComm* handle);
/// Takes a live or finalized handle out of use: no thread can enter from now on. False: it is not in use (any
/// more).
bool begin_close(ncclComm* handle);
/// Waits until no thread is inside. REQUIRES: begin_close() was true.
void wait_until_outside(const ncclComm* handle);
/// Waits until no thread is inside, then frees the handle's state and the slot. REQUIRES: begin_close() was
/// true.
void end_close(ncclComm* handle);

/// Invalidates all inherited handles in a forked child, none of whose threads is inside one. REQUIRES:
/// lifecycle_mutex is held.
void orphan_handles();

/// True for the address of a slot, used or not.
inline bool is_slot(const ncclComm* handle) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(slots);
  return offset < sizeof(slots) && offset % sizeof(ncclComm) == 0;
}

/// Enters: until leave(), the communicator stays live and is not freed. False: it cannot be used now.
inline bool enter(ncclComm* handle) {
  if (!is_slot(handle) || handle->inside.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return false;
  handle->inside.store(1, std::memory_order_relaxed);
  // The store must be visible before the load; begin_close() does the same in reverse. It makes every thread
  // pass a barrier, so here it is enough that the compiler keeps the order.
  if (fence_on_entry.load(std::memory_order_relaxed)) [[unlikely]] {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  if (handle->phase.load(std::memory_order_acquire) == Phase::live) [[likely]]
    return true;
  handle->inside.store(0, std::memory_order_release);
  return false;
}
inline void leave(ncclComm* handle) { handle->inside.store(0, std::memory_order_release); }

class HandleGuard {
 public:
  explicit HandleGuard(ncclComm* handle) : handle_(enter(handle) ? handle : nullptr) {}
  ~HandleGuard() {
    if (handle_ != nullptr) leave(handle_);
  }
  HandleGuard(const HandleGuard&) = delete;
  HandleGuard& operator=(const HandleGuard&) = delete;
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  ncclComm* const handle_;
};

/// The error of `function`, which could not enter.
Status explain_no_entry(const ncclComm* handle, const char* function);

/// Calls look(communicator, state) while the communicator cannot be freed, even if another thread is inside.
/// Not for hot paths; `look` must not block.
template <typename Look>
Status look_at(ncclComm* handle, const char* function, Look look) {
  std::lock_guard lock(lifecycle_mutex);
  const Phase phase = is_slot(handle) ? handle->phase.load(std::memory_order_relaxed) : Phase::free;
  if (phase != Phase::live && phase != Phase::finalized) return explain_no_entry(handle, function);
  look(*handle->core, *handle->state);
  return {};
}

}  // namespace weir::api
