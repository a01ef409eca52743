// SPDX-License-Identifier: Apache-2.0
/// What records, reports and answers to other processes contain of an operation: everything but addresses,
/// factors and windows. It fits into two 64-bit words.
///
/// Pure.
/// Tests: tests/core/operation_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "src/core/call/operation.h"

namespace weir::core {

struct OperationSummary {
  enum class Call : uint8_t { collective, send, receive, put, signal, wait };

  Call call = Call::collective;
  Collective collective = Collective::all_reduce;  ///< meaningful for Call::collective
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  Reduction::Scaling scaling = Reduction::Scaling::none;
  Rank rank = 0;  ///< the root of a collective; else the rank at the other end
  size_t count = 0;

  /// The kind under which the operation is counted: send_recv unless it is a collective.
  Collective kind() const { return call == Call::collective ? collective : Collective::send_recv; }
  size_t bytes() const { return count * size_of(type); }
};

inline OperationSummary summary_of(const CollectiveOp& operation) {
  return {.collective = operation.kind,
          .type = operation.type,
          .op = operation.reduction.op,
          .scaling = operation.reduction.scaling,
          .rank = operation.root,
          .count = operation.count};
}
OperationSummary summary_of(const Operation& operation);

/// The 64 bits that describe an operation in records and answers, except its count.
inline uint64_t pack(const OperationSummary& summary) {
  using Call = OperationSummary::Call;
  const Call call = summary.call;
  const bool sends = call == Call::send || call == Call::put || call == Call::signal;
  const uint64_t side =
      call >= Call::put ? static_cast<uint64_t>(call) - static_cast<uint64_t>(Call::put) + 1 : 0;
  return static_cast<uint64_t>(summary.kind()) | static_cast<uint64_t>(sends) << 7 |
         static_cast<uint64_t>(summary.type) << 8 | static_cast<uint64_t>(summary.op) << 16 |
         static_cast<uint64_t>(summary.scaling) << 24 | side << 28 |
         static_cast<uint64_t>(summary.rank) << 32;
}
/// The reverse. Empty if pack() never gives this word.
std::optional<OperationSummary> unpack(uint64_t what, uint64_t count);

/// NCCL's name of a kind of collective: "AllReduce"; "SendRecv" for sends and receives.
const char* nccl_name(Collective kind);

/// The call as the user made it: "ncclAllReduce(count 1024, ncclFloat32, ncclSum)".
std::string describe(const OperationSummary& summary);
inline std::string describe(const Operation& operation) { return describe(summary_of(operation)); }

}  // namespace weir::core
