// SPDX-License-Identifier: Apache-2.0
/// Maps ReduceOp to weir for each type. weir performs the operations of NCCL's interface. All others (16-bit
/// integers, bit operations, products of complex numbers) are folded here, in the order of the ranks.
#pragma once

#include <optional>

#include "python/weir_torch/communicator.h"
#include "python/weir_torch/tensors.h"

namespace weir_torch {

class Reduction {
 public:
  /// Throws for combinations without a meaning: bit operations on floats, comparisons of complex numbers.
  Reduction(const c10d::ReduceOp& op, at::ScalarType type, const char* operation);

  /// Whether weir performs the operation.
  bool is_native() const { return native_; }
  /// Element type and count of the native operation. REQUIRES: is_native().
  const Wire& wire() const { return wire_; }
  /// What is given to fold(), in a type that PyTorch calculates with.
  at::Tensor unfolded(const at::Tensor& blocks) const;
  /// into = into (op) other, of the same shape. REQUIRES: not is_native().
  void fold(at::Tensor& into, const at::Tensor& other) const;
  /// The result after the last fold over `ranks` ranks.
  at::Tensor end(at::Tensor folded, int ranks) const;

  /// The operator on a communicator, for the lifetime of this object.
  class Operator {
   public:
    Operator(const Reduction& reduction, const Communicator& communicator, ncclComm_t comm);
    ~Operator();
    Operator(const Operator&) = delete;
    Operator& operator=(const Operator&) = delete;
    operator ncclRedOp_t() const { return op_; }  // NOLINT(google-explicit-constructor)

   private:
    ncclRedOp_t op_;
    ncclComm_t made_on_ = nullptr;
  };

 private:
  bool choose_native(at::ScalarType type);

  c10d::ReduceOp::RedOpType op_;
  at::ScalarType type_;
  double factor_ = 1;  ///< factor of PREMUL_SUM
  bool native_ = false;
  ncclRedOp_t native_op_ = ncclSum;
  Wire wire_;
};

}  // namespace weir_torch
