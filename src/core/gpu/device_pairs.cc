// SPDX-License-Identifier: Apache-2.0

#include "src/core/gpu/device_pairs.h"

#include <fmt/format.h>

#include "src/exec/gpu/pairs_launch.h"

namespace weir::core {

Result<DevicePairs> pairs_of(std::span<const Operation> operations, std::span<const exec::Work> works,
                             Rank self) {
  DevicePairs found;
  std::vector<exec::gpu::PeerTransfer> sent, received;  // sends and receives of the rank to and from itself
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    if (!is_pair(operation)) continue;
    exec::gpu::PeerTransfer pair;
    pair.peer = peer_of(operation);
    pair.sends = std::holds_alternative<SendOp>(operation);
    pair.data = pair.sends ? const_cast<std::byte*>(works[i].input) : works[i].output;
    pair.bytes = bytes_of(operation);
    (pair.peer != self ? found.pairs : pair.sends ? sent : received).push_back(pair);
  }
  if (sent.size() != received.size())
    return Status(Code::invalid_usage,
                  fmt::format("rank {} has {} sends to itself and {} receives from itself in one group; "
                              "expected as many of each",
                              self, sent.size(), received.size()));
  for (size_t i = 0; i < sent.size(); ++i) {
    if (sent[i].bytes != received[i].bytes)
      return Status(
          Code::invalid_usage,
          fmt::format("rank {}'s send of {} bytes to itself differs in size from its receive of {} bytes",
                      self, sent[i].bytes, received[i].bytes));
    if (sent[i].bytes == 0 || sent[i].data == received[i].data) continue;
    found.copies.push_back({received[i].data, sent[i].data, sent[i].bytes});
  }
  return found;
}

std::string words_of_tag(uint64_t tag) {
  if ((tag & exec::gpu::kPairTag) == 0) return fmt::format("operation #{}", tag >> 32);
  return fmt::format("a send of {} bytes", tag & ~exec::gpu::kPairTag);
}

}  // namespace weir::core
