// SPDX-License-Identifier: Apache-2.0
/// What an ncclComm_t points to: a slot in an array that is never unmapped, so that any pointer at all can be
/// tested safely, also one that was freed long ago.
///
/// A call enters a communicator and leaves it again (Entry); whoever frees one first closes it, which waits
/// until nobody is inside. Entering costs two stores and two loads. Freed slots rest in a queue before they
/// are used again.
///
/// Shared words of a slot: `phase` is written by create() and close(); `inside` by the one thread that is in
/// a call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/api/abi.h"
#include "src/core/call/registration.h"
#include "src/core/communicator/communicator.h"
#include "src/core/grains/tree_sums.h"
#include "src/survey/ras_server.h"
#include "weir/status.h"

namespace weir::api {

/// `orphaned`: of the process that forked this one.
enum class Phase : uint32_t { free, live, finalized, closing, orphaned };

/// An operator made by ncclRedOpCreatePreMulSum.
struct Operator {
  bool live = false;
  DataType type = DataType::float32;
  const void* source = nullptr;  ///< ncclScalarDevice: where the factor is read by each call
  device::Scalar factor = {};
};

/// Memory that the user registered with ncclCommWindowRegister; what an ncclWindow_t points to.
struct Window {
  uint32_t number = 0;  ///< of its window
  void* data = nullptr;
  size_t bytes = 0;
  std::unique_ptr<core::Registration> registration;  ///< null: peers cannot map it
};

/// What a communicator has besides its core; used by its own thread only, but for `registrations`
/// and `windows`, which look_at() guards.
struct HandleState {
  std::unique_ptr<core::Communicator> communicator;
  std::vector<Operator> operators;
  std::vector<std::unique_ptr<core::Registration>> registrations;
  std::vector<std::unique_ptr<Window>> windows;
  /// Splits of a non-blocking communicator in which this rank takes part without belonging to the result.
  std::vector<std::unique_ptr<core::Communicator>> bystanders;
  std::shared_ptr<core::FloatPool> grain_arrays;  ///< of its sums over grains; null: there was none yet
  uint32_t operator_tag = 0;  ///< part of the numbers of its operators, so that foreign ones are noticed
  std::shared_ptr<survey::RasServer> ras;  ///< of the process; null: it has none
  int device = 0;
  uint64_t group = 0;  ///< the last group that named it
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
/// False on kernels without membarrier: then entering pays for a full fence.
extern std::atomic<bool> fence_on_entry;
/// Held while a phase changes and while looking from outside.
extern std::mutex lifecycle_mutex;

/// A slot for the communicator, live, with nobody inside. invalid_usage when all slots are taken.
Result<ncclComm*> create_handle(std::unique_ptr<core::Communicator> communicator);

/// Calls on it are over, but for looking, closing and freeing. False: it was not live.
bool mark_finalized(ncclComm* handle);
/// Takes a live or finalized handle out of use: from now on nobody enters. False: it is not in use (any
/// more).
bool begin_close(ncclComm* handle);
/// Waits until nobody is inside. REQUIRES: begin_close() was true.
void wait_until_outside(const ncclComm* handle);
/// Waits until nobody is inside, frees what the handle has, and the slot. REQUIRES: begin_close() was true.
void end_close(ncclComm* handle);

/// For a forked child, of whose threads none is inside anything: no handle that it has inherited is used any
/// more. REQUIRES: lifecycle_mutex is held.
void orphan_handles();

/// True for the address of a slot, used or not.
inline bool is_slot(const ncclComm* handle) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(slots);
  return offset < sizeof(slots) && offset % sizeof(ncclComm) == 0;
}

/// Goes inside: until leave(), the communicator is live and nobody frees it. False: it cannot be used now.
inline bool enter(ncclComm* handle) {
  if (!is_slot(handle) || handle->inside.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return false;
  handle->inside.store(1, std::memory_order_relaxed);
  // The store must be seen before the load is done; begin_close() does the same the other way round. It makes
  // every thread pass a barrier, so here it is enough that the compiler keeps the order.
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

class Entry {
 public:
  explicit Entry(ncclComm* handle) : handle_(enter(handle) ? handle : nullptr) {}
  ~Entry() {
    if (handle_ != nullptr) leave(handle_);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  ncclComm* const handle_;
};

/// Why `function` could not enter.
Status explain_no_entry(const ncclComm* handle, const char* function);

/// Calls look(communicator, state) while nobody can free it, also while another thread is inside. Not for hot
/// paths, and `look` must not block.
template <typename Look>
Status look_at(ncclComm* handle, const char* function, Look look) {
  std::lock_guard lock(lifecycle_mutex);
  const Phase phase = is_slot(handle) ? handle->phase.load(std::memory_order_relaxed) : Phase::free;
  if (phase != Phase::live && phase != Phase::finalized) return explain_no_entry(handle, function);
  look(*handle->core, *handle->state);
  return {};
}

}  // namespace weir::api
