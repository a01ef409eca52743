// SPDX-License-Identifier: Apache-2.0
/// weir as a back end of torch.distributed: one rank of one process group, and what PyTorch asks of it beside
/// operations: other groups made of it, timeouts, hooks, windows, memory.
///
/// Threads and names without `override` as in operations.h.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "python/weir_torch/operations.h"

namespace weir_torch {

class Backend final : public GroupOperations {
 public:
  explicit Backend(BackendFacts facts);
  /// Like close(): gives unfinished operations a last chance, then ends them.
  ~Backend() override;

  const std::string getBackendName() const override { return "weir"; }
  /// The timeout of operations issued from now on that are given none.
  void setTimeout(Milliseconds timeout) { context_->set_timeout(timeout); }
  void addEphemeralTimeout(const Milliseconds& by) { context_->extend_timeout(by); }
  /// From now on each Work tells how long its operation took (getDuration).
  void enableCollectivesTiming() { context_->time_tasks(); }
#ifdef WEIR_TORCH_HAS_getBackendOptions
  /// What PyTorch writes there (name and ranks of the group) is only kept.
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
#endif

#ifdef WEIR_TORCH_HAS_getError
  /// Why operations of the group fail; also of a death that nobody has waited for.
  c10d::ErrorType getError() override;
#endif

#ifdef C10D_BACKEND_HAS_RECONFIGURE
  bool supportsSplitting() const override { return true; }
  /// The group of these ranks of this group, over a store of its own; null if this rank is not one of them.
  c10::intrusive_ptr<c10d::Backend> split(const StorePtr& store, const std::vector<int>& ranks,
                                          const c10::intrusive_ptr<Options>& options) override;
  c10::intrusive_ptr<c10d::Backend> merge(const StorePtr& store, const c10::intrusive_ptr<Options>& options,
                                          const int& rank, const int& size) override;
  bool supportsShrinking() const override { return true; }
  /// The group without these ranks; they do not call it. `flags`: 1 aborts this group first.
  c10::intrusive_ptr<c10d::Backend> shrink(const std::vector<int64_t>& without, int flags,
                                           const c10::intrusive_ptr<Options>& options) override;
  bool supportsReconfigure() const override { return true; }
  c10d::ReconfigureHandle get_reconfigure_handle() const override { return handle_; }
  /// Ends this membership, with an error for operations in flight, and begins another one with these members.
  WorkPtr reconfigure(const c10d::ReconfigureOptions& options) override;
#endif
#ifdef C10D_BACKEND_HAS_HOOKS
  bool supportsAbortHooks() const { return true; }
  void registerAbortHook(int64_t id, c10d::AbortHook hook) override {
    context_->add_abort_hook(id, std::move(hook));
  }
  void unregisterAbortHook(int64_t id) override { context_->remove_abort_hook(id); }
#endif
#ifdef WEIR_TORCH_HAS_registerCompletionHook
  bool supportsCompletionHooks() const override { return true; }
  void registerCompletionHook(int64_t id, c10d::CompletionHook hook) override;
  void unregisterCompletionHook(int64_t id) override { context_->remove_completion_hook(id); }
#endif
#ifdef C10D_BACKEND_HAS_WINDOW
  bool supportsWindow() const override { return true; }
  c10::intrusive_ptr<c10d::Window> new_window(const std::optional<at::Tensor>& tensor) override;
#endif

  /// Frees what the communicators can give back (shared memory, connections), and gets it again. All ranks
  /// call them, with no operation in flight.
  void suspend();
  void resume();
  /// Bytes of the communicators, by the names of ncclCommMemStat_t.
  std::unordered_map<std::string, uint64_t> getMemoryStats();
  /// A tensor of `size` elements in memory that ranks of a host read in place (ncclMemAlloc).
  at::Tensor allocateTensor(long size, at::TensorOptions options);  // NOLINT(google-runtime-int): PyTorch's
  bool supportsTensorAlloc(c10::DeviceIndex /*device*/) { return true; }
  /// Joins the other ranks in the background, instead of in the first operation.
  void eagerConnectSingleDevice(at::Device device);
  /// Returns when all collectives issued so far are done.
  void waitForPendingWorks();

  /// Sets the order of the group's sums, one of weir/config.h. Throws after the group's first operation.
  void set_order(int order) { members().set_order(order); }
  /// The order of the group's sums; weirOrderUnset before its first operation if none was set.
  int order() { return members().order(); }

  /// Ends all operations in flight and all later ones with an error. May be called by any thread.
  void abort();
  /// Ends the group's operations as close() does.
  void shutdown() { close(); }
  /// Waits a short time for operations in flight, aborts the rest and ends the threads; later operations
  /// fail. The destructor calls it, too. Call it before the interpreter ends: a thread that releases a tensor
  /// may need the interpreter's lock.
  void close();
  /// Called when the last owner has gone while weak pointers are left: the destructor waits for the last of
  /// those.
  void release_resources() override;

 private:
  std::shared_ptr<Membership> current_members();
  /// Calls `body` with each communicator that has joined the other ranks, after all collectives before it.
  void with_communicators(const char* name, Body body);

  std::mutex members_mutex_;  ///< for what any thread may call
  const std::string handle_;  ///< names this rank to reconfigure()
#ifdef WEIR_TORCH_HAS_getBackendOptions
  const c10::intrusive_ptr<Options> options_;
#endif
  std::once_flag close_once_;
};

}  // namespace weir_torch
