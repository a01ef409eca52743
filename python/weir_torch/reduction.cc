// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/reduction.h"

#include <array>
#include <cstring>

#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

using Op = c10d::ReduceOp;

const char* name_of(Op::RedOpType op) {
  constexpr std::array<const char*, 9> kNames{"SUM",  "AVG", "PRODUCT", "MIN",       "MAX",
                                              "BAND", "BOR", "BXOR",    "PREMUL_SUM"};
  return op < kNames.size() ? kNames[op] : "UNUSED";
}

bool is_bitwise(Op::RedOpType op) { return op == Op::BAND || op == Op::BOR || op == Op::BXOR; }

/// PyTorch 1.13 stores a list of tensors, 2.6 one tensor, which may be undefined.
template <typename Supplement>
Tensors factors_of(const Supplement& supplement) {
  if constexpr (requires { supplement.tensor_factors; }) {
    return supplement.tensor_factors;
  } else {
    return supplement.tensor_factor.defined() ? Tensors{supplement.tensor_factor} : Tensors{};
  }
}

double factor_of(const Op& op, const char* operation) {
  const auto* supplement = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  if (supplement == nullptr) refuse(std::string(operation) + ": PREMUL_SUM has no factor, expected one");
  const Tensors factors = factors_of(*supplement);
  if (factors.empty()) return supplement->double_factor;
  const at::Tensor& factor = factors.front();
  if (factors.size() != 1 || factor.numel() != 1)
    refuse(std::string(operation) + ": PREMUL_SUM has several factors, expected one");
  return factor.item<double>();
}

/// The type in which sums are folded: PyTorch has no arithmetic for some that are only stored.
at::ScalarType folded_as(at::ScalarType type) {
#ifdef WEIR_TORCH_HAS_UNSIGNED
  if (type == at::kUInt16) return at::kInt;
  if (type == at::kUInt32 || type == at::kUInt64) return at::kLong;  // bit operations: the same bits
#endif
  return type;
}

bool can_be_folded(at::ScalarType type) { return !at::isFloatingType(type) || c10::elementSize(type) > 1; }

/// NCCL's operation of that name, if there is one.
std::optional<ncclRedOp_t> named(Op::RedOpType op) {
  switch (op) {
    case Op::SUM: return ncclSum;
    case Op::AVG: return ncclAvg;
    case Op::PRODUCT: return ncclProd;
    case Op::MIN: return ncclMin;
    case Op::MAX: return ncclMax;
    default: return std::nullopt;
  }
}

}  // namespace

Reduction::Reduction(const Op& op, at::ScalarType type, const char* operation) : op_(op.op_), type_(type) {
  const bool whole = at::isIntegralType(type, /*includeBool=*/true);
  const bool ordered = op_ == Op::MIN || op_ == Op::MAX;
  const bool meant = whole || at::isFloatingType(type) || at::isComplexType(type);
  if (!meant || op_ >= Op::UNUSED || (is_bitwise(op_) && !whole) || (ordered && at::isComplexType(type)) ||
      (type == at::kBool && (op_ == Op::AVG || op_ == Op::PREMUL_SUM))) {
    refuse(std::string(operation) + ": there is no " + name_of(op_) + " of " + c10::toString(type));
  }
  native_ = choose_native(type);
  if (op_ == Op::PREMUL_SUM) {
    if (!native_) refuse(std::string(operation) + ": there is no PREMUL_SUM of " + c10::toString(type));
    factor_ = factor_of(op, operation);
  } else if (!native_ && !can_be_folded(type)) {
    refuse(std::string(operation) + ": there is no " + name_of(op_) + " of " + c10::toString(type));
  }
}

bool Reduction::choose_native(at::ScalarType type) {
  wire_ = wire_of(type);
  if (type == at::kBool) {  // stored as bytes that are 0 or 1
    if (op_ == Op::BXOR) return false;
    native_op_ = op_ == Op::PRODUCT || op_ == Op::MIN || op_ == Op::BAND ? ncclMin : ncclMax;
    return true;
  }
  if (at::isComplexType(type)) {
    if (op_ != Op::SUM && op_ != Op::AVG && op_ != Op::PREMUL_SUM) return false;
  } else if (wire_.type == ncclUint8 && type != at::kByte) {
    return false;
  }
  if (op_ == Op::PREMUL_SUM) return true;
  const auto op = named(op_);
  if (op) native_op_ = *op;
  return op.has_value();
}

at::Tensor Reduction::unfolded(const at::Tensor& blocks) const { return blocks.to(folded_as(type_)); }

void Reduction::fold(at::Tensor& into, const at::Tensor& other) const {
  switch (op_) {
    case Op::SUM:
    case Op::AVG: into.add_(other); return;
    case Op::PRODUCT: into.mul_(other); return;
    case Op::MIN: at::minimum_out(into, into, other); return;
    case Op::MAX: at::maximum_out(into, into, other); return;
    case Op::BAND: into.bitwise_and_(other); return;
    case Op::BOR: into.bitwise_or_(other); return;
    case Op::BXOR: into.bitwise_xor_(other); return;
    default: refuse(std::string("there is no ") + name_of(op_) + " of " + c10::toString(type_));
  }
}

at::Tensor Reduction::end(at::Tensor folded, int ranks) const {
  if (op_ == Op::AVG) {
    if (at::isIntegralType(type_, /*includeBool=*/false)) {
      folded.div_(ranks, "trunc");
    } else {
      folded.div_(ranks);
    }
  }
  return folded.to(type_);
}

Reduction::Operator::Operator(const Reduction& reduction, const Communicator& communicator, ncclComm_t comm)
    : op_(reduction.native_op_) {
  if (reduction.op_ != Op::PREMUL_SUM) return;
  const bool complex = at::isComplexType(reduction.type_);
  const at::ScalarType type = complex ? c10::toRealValueType(reduction.type_) : reduction.type_;
  at::Tensor factor = at::full({1}, reduction.factor_, at::TensorOptions().dtype(type));
  communicator.check(
      ncclRedOpCreatePreMulSum(&op_, factor.data_ptr(), reduction.wire_.type, ncclScalarHostImmediate, comm));
  made_on_ = comm;
}

Reduction::Operator::~Operator() {
  if (made_on_ != nullptr) ncclRedOpDestroy(op_, made_on_);
}

}  // namespace weir_torch
