// SPDX-License-Identifier: Apache-2.0
/// What ReduceOp means for a type. What NCCL's interface has is left to weir. The rest (integers of 16 bits,
/// bit operations, products of complex numbers) is folded here, in the order of the ranks.
#pragma once

#include <optional>

#include "python/weir_torch/communicator.h"
#include "python/weir_torch/tensors.h"

namespace weir_torch {

class Reduction {
 public:
  /// Throws, with a sentence, for what has no meaning: bits of floats, the order of complex numbers.
  Reduction(const c10d::ReduceOp& op, at::ScalarType type, const char* operation);

  /// Whether weir does it.
  bool is_native() const { return native_; }
  /// Elements as the native operation sees them. REQUIRES: is_native().
  const Wire& wire() const { return wire_; }
  /// into = into (op) other, of the same shape. REQUIRES: not is_native().
  void fold(at::Tensor& into, const at::Tensor& other) const;
  /// After the last fold, over so many ranks.
  void end(at::Tensor& folded, int ranks) const;

  /// The operator on a communicator, while this lives.
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
  double factor_ = 1;  ///< of PREMUL_SUM
  bool native_ = false;
  ncclRedOp_t native_op_ = ncclSum;
  Wire wire_;
};

}  // namespace weir_torch
