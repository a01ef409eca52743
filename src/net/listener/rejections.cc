// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/rejections.h"

#include <fmt/format.h>

#include <utility>

#include "src/base/clock.h"

namespace weir {

std::optional<std::string> Rejections::add(std::string_view reason, std::string_view peer, int64_t now_ns) {
  const auto [at, first] = kinds_.try_emplace(std::string(reason));
  Kind& kind = at->second;
  if (!first && now_ns - kind.line_ns < 1'000 * kNsPerMs) {
    ++kind.silent;
    return std::nullopt;
  }
  kind.line_ns = now_ns;
  const uint64_t silent = std::exchange(kind.silent, 0);
  if (silent == 0) return fmt::format("rejected a connection from {}: {}", peer, reason);
  return fmt::format("rejected a connection from {}: {} ({} more since the last such line)", peer, reason,
                     silent);
}

}  // namespace weir
