// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/operation_summary.h"

#include <fmt/format.h>

#include <string_view>

namespace weir::core {
namespace {

using Call = OperationSummary::Call;

std::string_view call_name(const OperationSummary& summary) {
  switch (summary.call) {
    case Call::collective: return nccl_name(summary.collective);
    case Call::send: return "Send";
    case Call::receive: return "Recv";
    case Call::put: return "PutSignal";
    case Call::signal: return "Signal";
    case Call::wait: return "WaitSignal";
  }
  return "";
}

std::string_view reduction_name(const OperationSummary& summary) {
  switch (summary.scaling) {
    case Reduction::Scaling::average: return "avg";
    case Reduction::Scaling::premultiply: return "premulsum";
    default: return name(summary.op);
  }
}

template <typename Op>
OperationSummary summary_of(Call call, const Op& operation) {
  return {.call = call, .type = operation.type, .rank = operation.peer, .count = operation.count};
}

}  // namespace

OperationSummary summary_of(const Operation& operation) {
  if (const auto* const collective = std::get_if<CollectiveOp>(&operation)) return summary_of(*collective);
  if (const auto* const send = std::get_if<SendOp>(&operation)) return summary_of(Call::send, *send);
  if (const auto* const receive = std::get_if<RecvOp>(&operation)) return summary_of(Call::receive, *receive);
  if (const auto* const put = std::get_if<PutOp>(&operation)) return summary_of(Call::put, *put);
  const bool signals = std::holds_alternative<SignalOp>(operation);
  return {.call = signals ? Call::signal : Call::wait, .rank = peer_of(operation)};
}

std::optional<OperationSummary> unpack(uint64_t what, uint64_t count) {
  const auto kind = static_cast<Collective>(what & 0x7f);
  const bool sends = (what >> 7 & 1) != 0;
  const uint64_t side = what >> 28 & 0xf;
  OperationSummary summary;
  summary.type = static_cast<DataType>(what >> 8 & 0xff);
  summary.op = static_cast<RedOp>(what >> 16 & 0xff);
  summary.scaling = static_cast<Reduction::Scaling>(what >> 24 & 0xf);
  summary.rank = static_cast<Rank>(what >> 32);
  summary.count = count;
  if (kind != Collective::send_recv)
    summary.collective = kind;
  else if (side != 0)
    summary.call = static_cast<Call>(static_cast<uint64_t>(Call::put) + side - 1);
  else
    summary.call = sends ? Call::send : Call::receive;
  const bool known = static_cast<int>(kind) < kCollectives && static_cast<int>(summary.type) < kDataTypes &&
                     summary.op <= RedOp::min && summary.scaling <= Reduction::Scaling::premultiply &&
                     summary.call <= Call::wait;
  return known && pack(summary) == what ? std::optional(summary) : std::nullopt;
}

const char* nccl_name(Collective kind) {
  constexpr const char* kNames[kCollectives] = {"AllReduce", "Reduce",        "Broadcast",
                                                "AllGather", "ReduceScatter", "AlltoAll",
                                                "Gather",    "Scatter",       "SendRecv"};
  return kNames[static_cast<size_t>(kind)];
}

std::string describe(const OperationSummary& summary) {
  const Collective kind = summary.kind();
  std::string text =
      fmt::format("nccl{}(count {}, {}", call_name(summary), summary.count, name(summary.type));
  if (reduces(kind)) text += fmt::format(", {}", reduction_name(summary));
  if (has_root(kind)) text += fmt::format(", root {}", summary.rank);
  if (kind == Collective::send_recv) text += fmt::format(", peer {}", summary.rank);
  return text + ")";
}

}  // namespace weir::core
