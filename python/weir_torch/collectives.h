// SPDX-License-Identifier: Apache-2.0
/// Collectives on tensors: what every operation of c10d becomes in calls of weir. Each function is called by
/// all ranks of the communicator, in the same order, on the thread that carries out operations, and returns
/// when the outputs are written. All throw.
///
/// Tensors may have gaps; types that weir does not know are moved as bytes.
#pragma once

#include "python/weir_torch/communicator.h"
#include "python/weir_torch/reduction.h"
#include "python/weir_torch/tensors.h"

namespace weir_torch {

/// A communicator that is connected.
struct Peers {
  const Communicator& communicator;
  ncclComm_t comm;
  cudaStream_t stream =
      nullptr;  ///< of the GPU that the tensors are on; null: a call is done when it returns

  int rank() const { return communicator.rank(); }
  int size() const { return communicator.size(); }
  void check(ncclResult_t result) const { communicator.check(result); }
};

/// Every tensor becomes the reduction of all ranks'.
void all_reduce(const Peers& peers, const Tensors& tensors, const Reduction& reduction);
/// The root's only.
void reduce(const Peers& peers, const at::Tensor& tensor, const Reduction& reduction, int root);
/// Every output is this rank's block of the reduction of the input of the same index.
void reduce_scatter(const Peers& peers, const Tensors& outputs, const Tensors& inputs,
                    const Reduction& reduction);
/// The blocks are tensors, one for each rank, which may differ in size.
void reduce_scatter_blocks(const Peers& peers, const at::Tensor& output, const Tensors& blocks,
                           const Reduction& reduction);
void broadcast(const Peers& peers, const at::Tensor& tensor, int root);
/// Every output is the inputs of its index, rank after rank.
void all_gather(const Peers& peers, const Tensors& outputs, const Tensors& inputs);
/// The outputs are one for each rank; they may differ in size.
void all_gather_blocks(const Peers& peers, const Tensors& outputs, const at::Tensor& input);
/// outputs[rank] are copies of that rank's inputs, which may differ in type and size.
void all_gather_lists(const Peers& peers, const std::vector<Tensors>& outputs, const Tensors& inputs);
/// `outputs` of the root: one for each rank.
void gather(const Peers& peers, const Tensors& outputs, const at::Tensor& input, int root);
/// `inputs` of the root: one for each rank.
void scatter(const Peers& peers, const at::Tensor& output, const Tensors& inputs, int root);
/// Blocks along the first dimension, of these sizes for each rank; empty: equal ones.
void all_to_all(const Peers& peers, const at::Tensor& output, const at::Tensor& input,
                const std::vector<int64_t>& output_sizes, const std::vector<int64_t>& input_sizes);
void all_to_all_blocks(const Peers& peers, const Tensors& outputs, const Tensors& inputs);
/// Returns when all ranks have come.
void barrier(const Peers& peers);

}  // namespace weir_torch
