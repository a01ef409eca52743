// SPDX-License-Identifier: Apache-2.0
/// weir as a back end of torch.distributed: one rank of one process group.
///
/// Collectives are queued on one task queue and executed in order; point-to-point messages do not use that
/// queue (tagged_messages.h). The communicator joins the other ranks when the first collective is executed;
/// tensors on a GPU use a communicator of their own (gpu.h). PyTorch requires that one thread at a time
/// issues operations; Work and abort() are thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "python/weir_torch/collectives.h"
#include "python/weir_torch/tagged_messages.h"

namespace weir_torch {

class Backend final : public Base {
 public:
  Backend(StorePtr store, int rank, int size, Milliseconds timeout);
  /// Like close(): gives unfinished operations a last chance, then ends them.
  ~Backend() override;

  const std::string getBackendName() const override { return "weir"; }
  /// The timeout of operations issued from now on that are given none. Not `override`: older versions of
  /// PyTorch do not know it.
  void setTimeout(Milliseconds timeout) { timeout_ = timeout; }
#ifdef WEIR_TORCH_HAS_getBackendOptions
  /// What PyTorch writes there (name and ranks of the group) is only kept.
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
#endif

#ifdef WEIR_TORCH_HAS_getError
  /// Why operations of the group fail; also of a death that nobody has waited for.
  c10d::ErrorType getError() override;
#endif

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
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

  /// Names every missing rank on every rank that joined, whatever `wait_all_ranks` is.
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;
  void setSequenceNumberForGroup() override {}
  /// Number of collectives that this rank has issued.
  uint64_t getSequenceNumberForGroup() override { return issued_.load(); }

  /// Sets the order of the group's sums, one of weir/config.h. Throws after the group's first operation.
  void set_order(int order);
  /// The order of the group's sums; weirOrderUnset before its first operation if none was set.
  int order() const;

  /// Ends all operations in flight and all later ones with an error. May be called by any thread.
  void abort();
  /// Waits a short time for operations in flight, aborts the rest and ends the threads; later operations
  /// fail. The destructor calls it, too. Call it before the interpreter ends: a thread that releases a tensor
  /// may need the interpreter's lock.
  void close();

 private:
  using Body = std::function<void(const Peers&)>;

  /// `used`: further tensors that the operation uses.
  WorkPtr submit(c10d::OpType type, const char* name, Tensors outputs, Tensors used, Milliseconds timeout,
                 Body body);
  /// The GPU passage of an operation on tensors of a GPU; null for other tensors. Called for every operation:
  /// throws after close().
  GpuPassagePtr passage_for(const Tensors& tensors);
  Milliseconds effective(Milliseconds asked) const;
  /// Checks that there is one block for each rank, all of one type; throws otherwise.
  void check_blocks(const Tensors& blocks, const at::Tensor& whole, const char* name) const;
  void check_ratio(const at::Tensor& large, const at::Tensor& small, const char* name) const;
  void check_splits(const at::Tensor& tensor, const std::vector<int64_t>& sizes, const char* name) const;

  const StorePtr store_;
  std::atomic<Milliseconds> timeout_;
#ifdef WEIR_TORCH_HAS_getBackendOptions
  const c10::intrusive_ptr<Options> options_ = c10::make_intrusive<Options>("weir", timeout_.load());
#endif
  GpuQueues queues_;
  Communicator communicator_;      ///< communicator for tensors on the CPU
  Communicator gpu_communicator_;  ///< communicator for tensors on the first GPU that was used
  TaggedMessages tagged_messages_;
  const std::shared_ptr<TaskQueue> queue_ = std::make_shared<TaskQueue>();
  std::atomic<uint64_t> issued_{0};
  std::atomic<uint64_t> monitored_{0};  ///< number of monitored barriers
  std::once_flag close_once_;
  std::atomic<bool> closed_{false};
};

}  // namespace weir_torch
