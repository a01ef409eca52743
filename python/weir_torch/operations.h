// SPDX-License-Identifier: Apache-2.0
/// The operations of weir as a back end of torch.distributed: collectives and messages of one rank of one
/// group.
///
/// Collectives are queued on one task queue and executed in order; point-to-point messages do not use that
/// queue (tagged_messages.h). The communicator joins the other ranks when the first collective is executed;
/// tensors on a GPU use a communicator of their own (gpu.h). PyTorch requires that one thread at a time
/// issues operations; Work, abort() and hooks are thread-safe.
///
/// Functions that say `override` nowhere, but have a name of c10d::Backend, are those that older versions of
/// PyTorch do not know.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/weir_torch/membership.h"

namespace weir_torch {

/// What a group is created with.
struct BackendFacts {
  StorePtr store;
  int rank = 0;
  int size = 1;
  Milliseconds timeout{};
  std::string title = "weir";   ///< with which the names of its events for PyTorch's profiler begin
  bool awaits_members = false;  ///< it has no members before reconfigure()
};

class GroupOperations : public Base {
 public:
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  /// `tensors`: one sparse tensor.
  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options);
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  /// `output`: at the root, the inputs of all ranks.
  WorkPtr gather_single(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& options);
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                        std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
#if TORCH_VERSION_MAJOR >= 2
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
#endif

  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;

  /// Calls `issue`, which issues an operation, and returns when that is done. It costs less than to wait for
  /// its Work if no other operation is before it, and nobody follows it (profilers, hooks).
  void carry_out(c10::function_ref<WorkPtr()> issue);

  /// Names every missing rank on every rank that joined, whatever `wait_all_ranks` is.
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;
  void setSequenceNumberForGroup() override {}
  /// Number of collectives that this rank has issued.
  uint64_t getSequenceNumberForGroup() override { return members().issued(); }

#ifdef WEIR_TORCH_HAS_COALESCING
  /// Until endCoalescing() operations are one for their user: the Work of all of them.
  void startCoalescing();
  WorkPtr endCoalescing();
#endif

 protected:
  using Body = std::function<void(const Peers&)>;

  explicit GroupOperations(BackendFacts facts);

  /// Throws if the group was closed.
  void check_open() const;
  /// Throws also if the group has no members yet.
  Membership& members();
  /// `used`: further tensors that the operation uses. Returns null if carry_out() called and it is done.
  WorkPtr submit(c10d::OpType type, const char* name, Tensors outputs, Tensors used, Milliseconds timeout,
                 Body body);

  const StorePtr store_;
  const std::string title_;
  const TaskContextPtr context_;
  std::shared_ptr<Membership> members_;
  std::atomic<bool> closed_{false};

 private:
  WorkPtr issued(TaskPtr task);
  /// Whether an operation on these tensors can do without a Work.
  bool needs_no_work(const Tensors& tensors) const;
  /// The GPU passage of an operation on tensors of a GPU; null for other tensors.
  GpuPassagePtr passage_for(const Tensors& tensors);
  /// Checks that there is one block for each rank, all of one type; throws otherwise.
  void check_blocks(const Tensors& blocks, const at::Tensor& whole, const char* name) const;
  void check_ratio(const at::Tensor& large, const at::Tensor& small, const char* name) const;
  void check_splits(const at::Tensor& tensor, const std::vector<int64_t>& sizes, const char* name) const;

  GpuQueues queues_;
  std::optional<std::vector<WorkPtr>> coalesced_;  ///< since startCoalescing()
};

}  // namespace weir_torch
