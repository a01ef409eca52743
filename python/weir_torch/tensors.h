// SPDX-License-Identifier: Apache-2.0
/// Tensors in weir's terms: address, number of elements, NCCL type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl.h"
#include "python/weir_torch/base.h"

namespace weir_torch {

/// A type of weir with the same bits as the elements of a tensor.
struct Wire {
  ncclDataType_t type = ncclUint8;
  size_t per_element = 1;  ///< number of wire elements per tensor element
};

/// For transfers without arithmetic: every type has one.
Wire wire_of(at::ScalarType type);
/// The count argument for ncclBroadcast and similar functions.
size_t count_on(const Wire& wire, const at::Tensor& tensor);

/// Throws for tensors that weir cannot use; `operation`: name for the error.
void check_tensor(const at::Tensor& tensor, const char* operation);
/// Throws for tensors that are not sparse (COO), or not on the CPU.
void check_sparse(const at::Tensor& tensor, const char* operation);
/// Checks each tensor, and that all have one type and one device.
void check_tensors(const Tensors& tensors, const char* operation);
/// The tensors without those that occur before: a reduction in place reduces each once. Throws where packed
/// tensors overlap otherwise, because one result would then be an input of another.
Tensors without_repetitions(const Tensors& tensors, const char* operation);
/// Returns the only tensor of the list, because a process is one rank. Throws for any other number.
const at::Tensor& only(const Tensors& tensors, const char* operation);

bool is_packed(const at::Tensor& tensor);
/// Returns the tensor itself, or a copy whose elements are contiguous and in order.
at::Tensor packed(const at::Tensor& tensor);
/// All tensors' elements in order, contiguous: a copy, unless they already are contiguous in memory.
at::Tensor joined(const Tensors& tensors);
/// Whether the tensors are adjacent in memory, in order, each packed.
bool are_adjacent(const Tensors& tensors);
/// REQUIRES: both are packed and have the same type and number of elements; they may be on different devices.
void copy_elements(const at::Tensor& to, const at::Tensor& from);
/// Total number of elements.
int64_t elements(const Tensors& tensors);
/// Copies `flat` into the tensors, in order.
void deal_out(const at::Tensor& flat, const Tensors& tensors);

/// An output tensor: operations write packed memory, which give_back() copies to the tensor if necessary.
class Target {
 public:
  /// `keep`: the tensor's values are also an input.
  Target(const at::Tensor& tensor, bool keep);
  void* data() const { return flat_.data_ptr(); }
  const at::Tensor& flat() const { return flat_; }
  void give_back() const;

 private:
  at::Tensor tensor_;
  at::Tensor flat_;
};

}  // namespace weir_torch
