// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/operation.h"

#include <fmt/format.h>

namespace weir::core {
namespace {

std::string_view call_name(const Operation& operation) {
  constexpr std::string_view kSides[] = {"", "PutSignal", "Signal", "WaitSignal"};
  if (operation.side != Operation::Side::none) return kSides[static_cast<int>(operation.side)];
  if (operation.kind == Collective::send_recv) return operation.sends ? "Send" : "Recv";
  return nccl_name(operation.kind);
}

std::string_view reduction_name(const Reduction& reduction) {
  switch (reduction.scaling) {
    case Reduction::Scaling::average: return "avg";
    case Reduction::Scaling::premultiply:
    case Reduction::Scaling::premultiply_later: return "premulsum";
    default: return name(reduction.op);
  }
}

}  // namespace

const char* nccl_name(Collective kind) {
  constexpr const char* kNames[kCollectives] = {"AllReduce", "Reduce",        "Broadcast",
                                                "AllGather", "ReduceScatter", "AlltoAll",
                                                "Gather",    "Scatter",       "SendRecv"};
  return kNames[static_cast<size_t>(kind)];
}

std::string describe(const Operation& operation) {
  std::string text =
      fmt::format("nccl{}(count {}, {}", call_name(operation), operation.count, name(operation.type));
  if (reduces(operation.kind)) text += fmt::format(", {}", reduction_name(operation.reduction));
  if (has_root(operation.kind)) text += fmt::format(", root {}", operation.root);
  if (operation.kind == Collective::send_recv) text += fmt::format(", peer {}", operation.root);
  return text + ")";
}

}  // namespace weir::core
