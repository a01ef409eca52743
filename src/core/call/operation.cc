// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/operation.h"

namespace weir::core {

Collective kind_of(const Operation& operation) {
  const auto* const collective = std::get_if<CollectiveOp>(&operation);
  return collective != nullptr ? collective->kind : Collective::send_recv;
}

Rank peer_of(const Operation& operation) {
  return std::visit(
      [](const auto& one) -> Rank {
        if constexpr (requires { one.peer; })
          return one.peer;
        else if constexpr (requires { one.awaited; })
          return one.awaited->front().key.from;
        else
          return -1;
      },
      operation);
}

size_t bytes_of(const Operation& operation) {
  return std::visit(
      [](const auto& one) -> size_t {
        if constexpr (requires { one.count; })
          return one.count * size_of(one.type);
        else
          return 0;
      },
      operation);
}

const void* input_of(const Operation& operation) {
  return std::visit(
      [](const auto& one) -> const void* {
        if constexpr (requires { one.input; })
          return one.input;
        else
          return nullptr;
      },
      operation);
}

void* output_of(const Operation& operation) {
  return std::visit(
      [](const auto& one) -> void* {
        if constexpr (requires { one.output; })
          return one.output;
        else
          return nullptr;
      },
      operation);
}

}  // namespace weir::core
