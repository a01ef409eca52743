// SPDX-License-Identifier: Apache-2.0
/// Collectives on tensors: implements the operations of c10d with calls of weir. All ranks of the
/// communicator call each function in the same order, on the thread that executes operations; it returns when
/// the outputs are written. All functions throw on failure.
///
/// Tensors may be strided; types that weir does not support are transferred as bytes.
#pragma once

#include "python/weir_torch/communicator.h"
#include "python/weir_torch/reduction.h"
#include "python/weir_torch/tensors.h"

namespace weir_torch {

/// A connected communicator.
struct Peers {
  const Communicator& communicator;
  ncclComm_t comm;
  cudaStream_t stream = nullptr;  ///< stream of the tensors' GPU; null: a call has completed when it returns

  int rank() const { return communicator.rank(); }
  int size() const { return communicator.size(); }
  void check(ncclResult_t result) const { communicator.check(result); }
};

/// Replaces every tensor by its reduction over all ranks.
void all_reduce(const Peers& peers, const Tensors& tensors, const Reduction& reduction);
/// Replaces a sparse tensor by the sum over all ranks, whose entries may be elsewhere. The same bits on all
/// ranks: entries of one index are summed in the order of the ranks.
void all_reduce_sparse(const Peers& peers, const at::Tensor& tensor);
/// Like all_reduce, but writes the root's tensor only.
void reduce(const Peers& peers, const at::Tensor& tensor, const Reduction& reduction, int root);
/// Every output is this rank's block of the reduction of the input with the same index.
void reduce_scatter(const Peers& peers, const Tensors& outputs, const Tensors& inputs,
                    const Reduction& reduction);
/// `blocks`: one tensor for each rank, which may differ in size.
void reduce_scatter_blocks(const Peers& peers, const at::Tensor& output, const Tensors& blocks,
                           const Reduction& reduction);
void broadcast(const Peers& peers, const at::Tensor& tensor, int root);
/// Every output is the concatenation of all ranks' inputs with the same index.
void all_gather(const Peers& peers, const Tensors& outputs, const Tensors& inputs);
/// `outputs`: one for each rank; they may differ in size.
void all_gather_blocks(const Peers& peers, const Tensors& outputs, const at::Tensor& input);
/// outputs[rank] receives copies of that rank's inputs, which may differ in type and size.
void all_gather_lists(const Peers& peers, const std::vector<Tensors>& outputs, const Tensors& inputs);
/// `outputs`: at the root, one for each rank.
void gather(const Peers& peers, const Tensors& outputs, const at::Tensor& input, int root);
/// `inputs`: at the root, one for each rank.
void scatter(const Peers& peers, const at::Tensor& output, const Tensors& inputs, int root);
/// Exchanges blocks along the first dimension; sizes for each rank, or empty for equal blocks.
void all_to_all(const Peers& peers, const at::Tensor& output, const at::Tensor& input,
                const std::vector<int64_t>& output_sizes, const std::vector<int64_t>& input_sizes);
void all_to_all_blocks(const Peers& peers, const Tensors& outputs, const Tensors& inputs);
/// Returns when all ranks have called it.
void barrier(const Peers& peers);

}  // namespace weir_torch
