// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/operations.h"

#include <ATen/record_function.h>
#include <c10/util/ScopeExit.h>

#include <numeric>

#include "python/weir_torch/coalesced.h"
#include "python/weir_torch/rendezvous.h"
#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

using c10d::OpType;

constexpr Milliseconds kNoTimeoutOfItsOwn{-1};

/// Whether this thread is in carry_out().
thread_local bool carries_out = false;

int root_of(int64_t root, int size, const char* name) {
  if (root < 0 || root >= size)
    refuse(std::string(name) + " has root " + std::to_string(root) + ", expected 0 to " +
           std::to_string(size - 1));
  return static_cast<int>(root);
}

void check_count(size_t count, size_t wanted, const char* name, const char* what) {
  if (count != wanted) {
    refuse(std::string(name) + " was given " + std::to_string(count) + " " + what + ", expected " +
           std::to_string(wanted));
  }
}

}  // namespace

GroupOperations::GroupOperations(BackendFacts facts)
    : Base(facts.rank, facts.size),
      store_(facts.store),
      title_(facts.title),
      context_(std::make_shared<TaskContext>(facts.title, facts.timeout)),
      members_(facts.awaits_members
                   ? nullptr
                   : std::make_shared<Membership>(store_, facts.rank, facts.size, context_)) {}

void GroupOperations::check_open() const {
  if (closed_) refuse("the group was closed, by shutdown() or because the interpreter is shutting down");
}

Membership& GroupOperations::members() {
  check_open();
  if (!members_) refuse("the group has no members yet; expected reconfigure() first");
  return *members_;
}

GpuPassagePtr GroupOperations::passage_for(const Tensors& tensors) {
  if (tensors.empty() || tensors.front().device().is_cpu()) return nullptr;
  return std::make_shared<GpuPassage>(queues_.of(tensors.front().device()));
}

bool GroupOperations::needs_no_work(const Tensors& tensors) const {
  return carries_out && tensors.front().device().is_cpu() && !coalesced_ && !context_->follows_tasks() &&
         !at::hasCallbacks();
}

void GroupOperations::carry_out(c10::function_ref<WorkPtr()> issue) {
  carries_out = true;
  const auto end = c10::make_scope_exit([] { carries_out = false; });
  if (const WorkPtr work = issue()) work->wait();
}

WorkPtr GroupOperations::submit(OpType type, const char* name, Tensors outputs, Tensors used,
                                Milliseconds timeout, Body body) {
  Membership& members = this->members();
  members.count_collective();
  const Milliseconds longest = context_->timeout_of_next(timeout);
  if (needs_no_work(used.empty() ? outputs : used)) {
    const at::NoGradGuard plain;
    const auto run = [&] { body(Peers{members.communicator(), members.communicator().get(longest)}); };
    if (members.queue()->run_if_free(run)) return WorkPtr();
  }
  TaskFacts facts{type, name, outputs, {}, longest};
  if (at::hasCallbacks()) facts.inputs = used.empty() ? outputs : used;
  used.insert(used.end(), outputs.begin(), outputs.end());
  facts.passage = passage_for(used);
  std::function<void()> carry_out;
  if (facts.passage == nullptr) {
    carry_out = [&members, longest, body = std::move(body)] {
      body(Peers{members.communicator(), members.communicator().get(longest)});
    };
  } else {
    carry_out = [&members, longest, passage = facts.passage, used = std::move(used), body = std::move(body)] {
      passage->run(used, [&] {
        Communicator& communicator = members.gpu_communicator();
        body(Peers{communicator, communicator.get(longest), passage->queue().handle()});
      });
    };
  }
  auto task = c10::make_intrusive<Task>(members.queue(), context_, std::move(facts), std::move(carry_out));
  members.queue()->submit(task);
  return issued(std::move(task));
}

WorkPtr GroupOperations::issued(TaskPtr task) {
  if (coalesced_) coalesced_->push_back(task);
  return task;
}

void GroupOperations::check_blocks(const Tensors& blocks, const at::Tensor& whole, const char* name) const {
  check_count(blocks.size(), static_cast<size_t>(getSize()), name, "tensors for the ranks");
  check_tensors(blocks, name);
  check_tensors({blocks.front(), whole}, name);
}

void GroupOperations::check_ratio(const at::Tensor& large, const at::Tensor& small, const char* name) const {
  check_tensors({large, small}, name);
  if (large.numel() != small.numel() * getSize()) {
    refuse(std::string(name) + " was given tensors of " + std::to_string(large.numel()) + " and " +
           std::to_string(small.numel()) + " elements, expected " + std::to_string(getSize()) +
           " times as many");
  }
}

void GroupOperations::check_splits(const at::Tensor& tensor, const std::vector<int64_t>& sizes,
                                   const char* name) const {
  check_tensor(tensor, name);
  const int64_t rows = tensor.dim() == 0 ? 0 : tensor.size(0);
  if (sizes.empty()) {
    if (rows % getSize() != 0)
      refuse(std::string(name) + " cannot divide " + std::to_string(rows) + " rows into " +
             std::to_string(getSize()) + " equal parts");
    return;
  }
  check_count(sizes.size(), static_cast<size_t>(getSize()), name, "split sizes");
  for (const int64_t size : sizes) {
    if (size < 0) refuse(std::string(name) + " has a negative split size");
  }
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != rows)
    refuse(std::string(name) + " has split sizes that do not add up to " + std::to_string(rows) + " rows");
}

WorkPtr GroupOperations::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const at::Tensor tensor = only(tensors, "broadcast");
  const int root = root_of(options.rootRank, getSize(), "broadcast");
  return submit(OpType::BROADCAST, "broadcast", {tensor}, {}, options.timeout,
                [=](const Peers& peers) { weir_torch::broadcast(peers, tensor, root); });
}

WorkPtr GroupOperations::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  if (tensors.size() == 1 && tensors.front().defined() && tensors.front().layout() == at::kSparse)
    return allreduce_sparse(tensors, options);
  const at::Tensor tensor = only(tensors, "all_reduce");
  const Reduction reduction(options.reduceOp, tensor.scalar_type(), "all_reduce");
  return submit(OpType::ALLREDUCE, "all_reduce", {tensor}, {}, options.timeout,
                [=](const Peers& peers) { all_reduce(peers, {tensor}, reduction); });
}

WorkPtr GroupOperations::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  check_count(tensors.size(), 1, "all_reduce", "sparse tensors");
  const at::Tensor tensor = tensors.front();
  check_sparse(tensor, "all_reduce");
  if (options.reduceOp != c10d::ReduceOp::SUM)
    refuse("all_reduce of sparse tensors does sums only; another operation was asked for");
  return submit(OpType::ALLREDUCE, "sparse_all_reduce", {tensor}, {}, options.timeout,
                [=](const Peers& peers) { all_reduce_sparse(peers, tensor); });
}

WorkPtr GroupOperations::allreduce_coalesced(Tensors& tensors,
                                             const c10d::AllreduceCoalescedOptions& options) {
  if (tensors.empty()) refuse("all_reduce_coalesced was given no tensor");
  check_tensors(tensors, "all_reduce_coalesced");
  const Tensors distinct = without_repetitions(tensors, "all_reduce_coalesced");
  const Reduction reduction(options.reduceOp, tensors.front().scalar_type(), "all_reduce_coalesced");
  return submit(OpType::ALLREDUCE_COALESCED, "all_reduce_coalesced", tensors, {}, options.timeout,
                [=](const Peers& peers) { all_reduce(peers, distinct, reduction); });
}

WorkPtr GroupOperations::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor tensor = only(tensors, "reduce");
  const int root = root_of(options.rootRank, getSize(), "reduce");
  const Reduction reduction(options.reduceOp, tensor.scalar_type(), "reduce");
  return submit(OpType::REDUCE, "reduce", {tensor}, {}, options.timeout,
                [=](const Peers& peers) { weir_torch::reduce(peers, tensor, reduction, root); });
}

WorkPtr GroupOperations::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                   const c10d::AllgatherOptions& options) {
  const at::Tensor input = only(inputs, "all_gather");
  check_count(outputs.size(), 1, "all_gather", "lists of outputs");
  const Tensors blocks = outputs.front();
  check_blocks(blocks, input, "all_gather");
  if (blocks[static_cast<size_t>(getRank())].numel() != input.numel())
    refuse("all_gather: the output of this rank differs in size from its input");
  return submit(OpType::ALLGATHER, "all_gather", blocks, {input}, options.timeout,
                [=](const Peers& peers) { all_gather_blocks(peers, blocks, input); });
}

WorkPtr GroupOperations::_allgather_base(at::Tensor& output, at::Tensor& input,
                                         const c10d::AllgatherOptions& options) {
  check_ratio(output, input, "all_gather_into_tensor");
  return submit(OpType::_ALLGATHER_BASE, "all_gather_into_tensor", {output}, {input}, options.timeout,
                [output, input](const Peers& peers) { all_gather(peers, {output}, {input}); });
}

WorkPtr GroupOperations::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                             const c10d::AllgatherOptions& options) {
  check_count(outputs.size(), static_cast<size_t>(getSize()), "all_gather_coalesced", "lists of outputs");
  Tensors all;
  for (const Tensors& list : outputs) {
    check_count(list.size(), inputs.size(), "all_gather_coalesced", "outputs of a rank");
    for (size_t i = 0; i < list.size(); ++i) check_tensors({inputs[i], list[i]}, "all_gather_coalesced");
    all.insert(all.end(), list.begin(), list.end());
  }
  const Tensors& own = outputs[static_cast<size_t>(getRank())];
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].numel() != inputs[i].numel())
      refuse("all_gather_coalesced: output " + std::to_string(i) + " of this rank has " +
             std::to_string(own[i].numel()) + " elements, expected " + std::to_string(inputs[i].numel()) +
             ", those of its input");
  }
  return submit(OpType::ALLGATHER_COALESCED, "all_gather_coalesced", all, inputs, options.timeout,
                [outputs, inputs](const Peers& peers) { all_gather_lists(peers, outputs, inputs); });
}

WorkPtr GroupOperations::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                const c10d::GatherOptions& options) {
  const at::Tensor input = only(inputs, "gather");
  const int root = root_of(options.rootRank, getSize(), "gather");
  Tensors blocks;
  if (getRank() == root) {
    check_count(outputs.size(), 1, "gather", "lists of outputs");
    blocks = outputs.front();
    check_blocks(blocks, input, "gather");
    for (const at::Tensor& block : blocks) {
      if (block.numel() != input.numel()) refuse("gather: an output differs in size from the input");
    }
  }
  return submit(OpType::GATHER, "gather", blocks, {input}, options.timeout,
                [=](const Peers& peers) { weir_torch::gather(peers, blocks, input, root); });
}

WorkPtr GroupOperations::gather_single(at::Tensor& output, at::Tensor& input,
                                       const c10d::GatherOptions& options) {
  const int root = root_of(options.rootRank, getSize(), "gather_single");
  Tensors outputs;
  if (getRank() == root) {
    check_ratio(output, input, "gather_single");
    outputs = {output};
  } else {
    check_tensor(input, "gather_single");
  }
  return submit(OpType::GATHER, "gather_single", outputs, {input}, options.timeout,
                [=, input = input](const Peers& peers) { weir_torch::gather(peers, outputs, input, root); });
}

WorkPtr GroupOperations::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                 const c10d::ScatterOptions& options) {
  const at::Tensor output = only(outputs, "scatter");
  const int root = root_of(options.rootRank, getSize(), "scatter");
  Tensors blocks;
  if (getRank() == root) {
    check_count(inputs.size(), 1, "scatter", "lists of inputs");
    blocks = inputs.front();
    check_blocks(blocks, output, "scatter");
    for (const at::Tensor& block : blocks) {
      if (block.numel() != output.numel()) refuse("scatter: an input differs in size from the output");
    }
  }
  return submit(OpType::SCATTER, "scatter", {output}, blocks, options.timeout,
                [=](const Peers& peers) { weir_torch::scatter(peers, output, blocks, root); });
}

WorkPtr GroupOperations::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                        const c10d::ReduceScatterOptions& options) {
  const at::Tensor output = only(outputs, "reduce_scatter");
  check_count(inputs.size(), 1, "reduce_scatter", "lists of inputs");
  const Tensors blocks = inputs.front();
  check_blocks(blocks, output, "reduce_scatter");
  if (blocks[static_cast<size_t>(getRank())].numel() != output.numel())
    refuse("reduce_scatter: the input for this rank differs in size from its output");
  const Reduction reduction(options.reduceOp, output.scalar_type(), "reduce_scatter");
  return submit(OpType::REDUCE_SCATTER, "reduce_scatter", {output}, blocks, options.timeout,
                [=](const Peers& peers) { reduce_scatter_blocks(peers, output, blocks, reduction); });
}

WorkPtr GroupOperations::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                              const c10d::ReduceScatterOptions& options) {
  check_ratio(input, output, "reduce_scatter_tensor");
  const Reduction reduction(options.reduceOp, output.scalar_type(), "reduce_scatter_tensor");
  return submit(OpType::_REDUCE_SCATTER_BASE, "reduce_scatter_tensor", {output}, {input}, options.timeout,
                [output, input, reduction](const Peers& peers) {
                  weir_torch::reduce_scatter(peers, {output}, {input}, reduction);
                });
}

WorkPtr GroupOperations::alltoall_base(at::Tensor& output, at::Tensor& input,
                                       std::vector<int64_t>& output_sizes, std::vector<int64_t>& input_sizes,
                                       const c10d::AllToAllOptions& options) {
  check_tensors({output, input}, "all_to_all_single");
  check_splits(output, output_sizes, "all_to_all_single");
  check_splits(input, input_sizes, "all_to_all_single");
  if (output_sizes.empty() && input_sizes.empty() && output.numel() != input.numel())
    refuse("all_to_all_single without split sizes was given an input of " + std::to_string(input.numel()) +
           " elements, expected as many as in the output, " + std::to_string(output.numel()));
  return submit(OpType::ALLTOALL_BASE, "all_to_all_single", {output}, {input}, options.timeout,
                [output, input, output_sizes, input_sizes](const Peers& peers) {
                  all_to_all(peers, output, input, output_sizes, input_sizes);
                });
}

WorkPtr GroupOperations::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
  check_count(outputs.size(), static_cast<size_t>(getSize()), "all_to_all", "outputs");
  check_count(inputs.size(), static_cast<size_t>(getSize()), "all_to_all", "inputs");
  check_tensors(outputs, "all_to_all");
  check_tensors(inputs, "all_to_all");
  check_tensors({outputs.front(), inputs.front()}, "all_to_all");
  return submit(OpType::ALLTOALL, "all_to_all", outputs, inputs, options.timeout,
                [outputs, inputs](const Peers& peers) { all_to_all_blocks(peers, outputs, inputs); });
}

WorkPtr GroupOperations::barrier(const c10d::BarrierOptions& options) {
  return submit(OpType::BARRIER, "barrier", {}, {}, options.timeout, [this](const Peers& peers) {
    queues_.synchronize();
    weir_torch::barrier(peers);
  });
}

#if TORCH_VERSION_MAJOR >= 2
WorkPtr GroupOperations::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                         const c10d::AllgatherOptions& options) {
  check_count(outputs.size(), inputs.size(), "all_gather_into_tensor_coalesced", "outputs");
  for (size_t i = 0; i < inputs.size(); ++i)
    check_ratio(outputs[i], inputs[i], "all_gather_into_tensor_coalesced");
  return submit(OpType::COALESCED, "all_gather_into_tensor_coalesced", outputs, inputs, options.timeout,
                [outputs, inputs](const Peers& peers) { all_gather(peers, outputs, inputs); });
}

WorkPtr GroupOperations::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                         const c10d::ReduceScatterOptions& options) {
  check_count(outputs.size(), inputs.size(), "reduce_scatter_tensor_coalesced", "outputs");
  if (outputs.empty()) refuse("reduce_scatter_tensor_coalesced was given no tensor");
  check_tensors(outputs, "reduce_scatter_tensor_coalesced");
  for (size_t i = 0; i < inputs.size(); ++i)
    check_ratio(inputs[i], outputs[i], "reduce_scatter_tensor_coalesced");
  const Reduction reduction(options.reduceOp, outputs.front().scalar_type(),
                            "reduce_scatter_tensor_coalesced");
  return submit(OpType::COALESCED, "reduce_scatter_tensor_coalesced", outputs, inputs, options.timeout,
                [outputs, inputs, reduction](const Peers& peers) {
                  weir_torch::reduce_scatter(peers, outputs, inputs, reduction);
                });
}
#endif

WorkPtr GroupOperations::send(Tensors& tensors, int to, int tag) {
  const at::Tensor& tensor = only(tensors, "send");
  const Milliseconds longest = context_->timeout_of_next(kNoTimeoutOfItsOwn);
  return issued(members().tagged_messages().send(tensor, passage_for(tensors), to, tag, longest));
}

WorkPtr GroupOperations::recv(Tensors& tensors, int from, int tag) {
  const at::Tensor& tensor = only(tensors, "receive");
  const Milliseconds longest = context_->timeout_of_next(kNoTimeoutOfItsOwn);
  return issued(members().tagged_messages().receive(tensor, passage_for(tensors), from, tag, longest));
}

WorkPtr GroupOperations::recvAnysource(Tensors& tensors, int tag) {
  const at::Tensor& tensor = only(tensors, "receive");
  const Milliseconds longest = context_->timeout_of_next(kNoTimeoutOfItsOwn);
  return issued(members().tagged_messages().receive_from_any(tensor, passage_for(tensors), tag, longest));
}

#ifdef WEIR_TORCH_HAS_COALESCING
void GroupOperations::startCoalescing() {
  if (coalesced_) refuse("coalescing has been started twice; expected an end between");
  coalesced_.emplace();
}

WorkPtr GroupOperations::endCoalescing() {
  if (!coalesced_) refuse("coalescing was ended, but had not been started");
  auto works = std::move(*coalesced_);
  coalesced_.reset();
  return c10::make_intrusive<Coalesced>(std::move(works));
}
#endif

void GroupOperations::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  Membership& members = this->members();
  monitored_barrier(members.store(), "monitored/" + std::to_string(members.next_barrier()), getRank(),
                    getSize(), context_->timeout_of_next(options.timeout),
                    title_ != "gloo" ? GloosWords::none
                    : wait_all_ranks ? GloosWords::of_all
                                     : GloosWords::of_first);
}

}  // namespace weir_torch
