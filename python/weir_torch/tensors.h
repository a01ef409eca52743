// SPDX-License-Identifier: Apache-2.0
/// Tensors as weir sees them: an address, a number of elements, a type of NCCL's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl.h"
#include "python/weir_torch/base.h"

namespace weir_torch {

/// Elements of a type as elements of one that weir has, with the same bits.
struct Wire {
  ncclDataType_t type = ncclUint8;
  size_t per_element = 1;  ///< so many of them are one
};

/// For moving: every type has one.
Wire wire_of(at::ScalarType type);
/// What ncclBroadcast and the like call the count.
size_t count_on(const Wire& wire, const at::Tensor& tensor);

/// Refuses what weir cannot work on: `operation` is for the sentence. Throws.
void check_tensor(const at::Tensor& tensor, const char* operation);
/// The same for all, which must also have one type and lie on one device.
void check_tensors(const Tensors& tensors, const char* operation);
/// The only one of the list: a process is one rank. Throws.
const at::Tensor& only(const Tensors& tensors, const char* operation);

bool is_packed(const at::Tensor& tensor);
/// Itself, or a copy whose elements follow each other in order.
at::Tensor packed(const at::Tensor& tensor);
/// Elements of all tensors, in order, one after another: a copy, unless they already lie so in memory.
at::Tensor joined(const Tensors& tensors);
/// Whether the tensors lie one after another in memory, each packed.
bool are_adjacent(const Tensors& tensors);
/// Both are packed, of one type and number of elements; they may be on different devices.
void copy_elements(const at::Tensor& to, const at::Tensor& from);
/// Of all together.
int64_t elements(const Tensors& tensors);
/// Copies `flat` into the tensors, one after another.
void deal_out(const at::Tensor& flat, const Tensors& tensors);

/// A tensor that an operation writes: works on packed memory, which give_back() copies where it belongs.
class Target {
 public:
  /// `keep`: its values are an input too.
  Target(const at::Tensor& tensor, bool keep);
  void* data() const { return flat_.data_ptr(); }
  const at::Tensor& flat() const { return flat_; }
  void give_back() const;

 private:
  at::Tensor tensor_;
  at::Tensor flat_;
};

}  // namespace weir_torch
