// SPDX-License-Identifier: Apache-2.0
/// weir as a back end of torch.distributed: one rank of one process group.
///
/// Collectives are queued on one task queue and carried out in order; messages go their own way
/// (tagged_messages.h). The communicator meets the other ranks when the first collective is carried out;
/// tensors on a GPU have one of their own (gpu.h). As PyTorch asks of every back end, one thread at a time
/// issues operations; Work is thread-safe, and so is abort().
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
  /// Gives what nobody waited for a last chance, then ends it.
  ~Backend() override;

  const std::string getBackendName() const override { return "weir"; }

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

  /// Names every missing rank, on every rank that came, whether or not that is asked for.
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;
  void setSequenceNumberForGroup() override {}
  /// Collectives that this rank has issued.
  uint64_t getSequenceNumberForGroup() override { return issued_.load(); }

  /// Whatever is under way, and every operation from now on, ends with an error. Any thread.
  void abort();
  /// Waits a moment for what is under way, aborts the rest and ends the threads; later operations are
  /// refused. The destructor does it, too. It must be done before the interpreter ends: a thread that lets go
  /// of a tensor may need the interpreter's lock.
  void close();

 private:
  using Body = std::function<void(const Peers&)>;

  /// `used`: what else the operation works on.
  WorkPtr submit(c10d::OpType type, const char* name, Tensors outputs, Tensors used, Milliseconds timeout,
                 Body body);
  /// What an operation on tensors of a GPU goes through; null for others. Every operation asks for it: throws
  /// after close().
  GpuPassagePtr passage_for(const Tensors& tensors);
  Milliseconds effective(Milliseconds asked) const;
  /// One for each rank, of one type; throws.
  void check_blocks(const Tensors& blocks, const at::Tensor& whole, const char* name) const;
  void check_ratio(const at::Tensor& large, const at::Tensor& small, const char* name) const;
  void check_splits(const at::Tensor& tensor, const std::vector<int64_t>& sizes, const char* name) const;

  const StorePtr store_;
  const Milliseconds timeout_;
  GpuQueues queues_;
  Communicator communicator_;      ///< for tensors on the CPU
  Communicator gpu_communicator_;  ///< on the GPU of the first tensor that was on one
  TaggedMessages tagged_messages_;
  const std::shared_ptr<TaskQueue> queue_ = std::make_shared<TaskQueue>();
  std::atomic<uint64_t> issued_{0};
  std::atomic<uint64_t> monitored_{0};  ///< monitored barriers
  std::once_flag close_once_;
  std::atomic<bool> closed_{false};
};

}  // namespace weir_torch
