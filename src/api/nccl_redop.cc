// SPDX-License-Identifier: Apache-2.0
// Operators that users make. Their numbers: bit 30, 15 bits of the communicator's tag, 15 bits of the index
// in its list.
#include <fmt/format.h>

#include <cstring>

#include "src/api/operators.h"
#include "src/api/process.h"

namespace weir::api {
namespace {

constexpr int kIndexBits = 15;
constexpr uint32_t kMask = (1u << kIndexBits) - 1;
constexpr uint32_t kUserBit = 1u << 30;

uint32_t prefix_of(const HandleState& state) { return kUserBit | (state.operator_tag & kMask) << kIndexBits; }

const Operator* find(const HandleState& state, int op) {
  const auto bits = static_cast<uint32_t>(op);
  const uint32_t index = bits & kMask;
  if ((bits & ~kMask) != prefix_of(state) || index >= state.operators.size()) return nullptr;
  const Operator& found = state.operators[index];
  return found.live ? &found : nullptr;
}

Status make(HandleState& state, const void* scalar, int type, int residence, ncclRedOp_t* op) {
  constexpr const char* kFunction = "ncclRedOpCreatePreMulSum";
  if (op == nullptr || scalar == nullptr) return null_argument(kFunction, op == nullptr ? "op" : "scalar");
  if (static_cast<unsigned>(type) >= kDataTypes) {
    return {Code::invalid_argument, fmt::format("{} : invalid type {}", kFunction, type)};
  }
  if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate) {
    return {Code::invalid_argument, fmt::format("{} : invalid residence {}", kFunction, residence)};
  }
  uint32_t index = 0;
  while (index < state.operators.size() && state.operators[index].live) ++index;
  if (index > kMask) {
    return {Code::invalid_usage,
            fmt::format("{} : the communicator has {} operators already; destroy some", kFunction, index)};
  }
  if (index == state.operators.size()) state.operators.emplace_back();
  Operator& made = state.operators[index];
  made = {.live = true, .type = static_cast<DataType>(type)};
  if (residence == ncclScalarDevice) {
    made.source = scalar;
  } else {
    std::memcpy(made.factor.bits, scalar, size_of(made.type));
  }
  *op = static_cast<ncclRedOp_t>(prefix_of(state) | index);
  return {};
}

Status destroy(HandleState& state, int op) {
  constexpr const char* kFunction = "ncclRedOpDestroy";
  if (is_builtin(op)) {
    return {Code::invalid_argument, fmt::format("{} : operator {} is builtin", kFunction, op)};
  }
  if (find(state, op) == nullptr) {
    return {Code::invalid_argument, fmt::format("{} : operator {:#x} is unknown to this communicator",
                                                kFunction, static_cast<uint32_t>(op))};
  }
  state.operators[static_cast<uint32_t>(op) & kMask].live = false;
  return {};
}

}  // namespace

Status find_reduction(const HandleState& state, int op, DataType type, const char* function,
                      core::Reduction& reduction) {
  if (is_builtin(op)) {
    reduction = builtin_reduction(op);
    return {};
  }
  const Operator* const found = find(state, op);
  if (found == nullptr) {
    return {Code::invalid_argument,
            fmt::format("{} : invalid reduction operation {:#x}: neither builtin nor made by "
                        "ncclRedOpCreatePreMulSum for this communicator",
                        function, static_cast<uint32_t>(op))};
  }
  if (found->type != type) {
    return {Code::invalid_argument, fmt::format("{} : the operator was made for {} and is used with {}",
                                                function, name(found->type), name(type))};
  }
  reduction.scaling = core::Reduction::Scaling::premultiply;
  reduction.factor = found->factor;
  reduction.factor_at = found->source;
  return {};
}

Status device_scalar_on_stream(const char* function) {
  return {Code::invalid_usage,
          fmt::format("{} : an operator with a scalar of residence ncclScalarDevice cannot be used on a "
                      "host stream; make it with ncclScalarHostImmediate",
                      function)};
}

}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                       ncclScalarResidence_t residence, ncclComm_t comm) {
  const HandleGuard guard(comm);
  if (!guard) return report([&] { return explain_no_entry(comm, "ncclRedOpCreatePreMulSum"); });
  return report([&] { return make(*comm->state, scalar, number(datatype), number(residence), op); });
}
WEIR_WEAK_ALIAS(ncclRedOpCreatePreMulSum);

ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  const HandleGuard guard(comm);
  if (!guard) return report([&] { return explain_no_entry(comm, "ncclRedOpDestroy"); });
  return report([&] { return destroy(*comm->state, number(op)); });
}
WEIR_WEAK_ALIAS(ncclRedOpDestroy);
