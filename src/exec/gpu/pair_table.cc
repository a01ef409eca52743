// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/pair_table.h"

#include <algorithm>
#include <map>
#include <vector>

#include "src/base/chunks.h"

namespace weir::exec::gpu {
namespace {

/// Minimum share of a message per ring, in bytes: its transfer takes ten times as long as the ring's wait, as
/// assumed for collectives.
constexpr size_t kRingBytes = size_t{16} << 10;
constexpr size_t kUnit = 512;

}  // namespace

PairMessage cut_pair(std::byte* data, size_t bytes, const PairCut& cut) {
  PairMessage message;
  message.data = data;
  message.bytes = bytes;
  message.rings = static_cast<uint32_t>(std::clamp<size_t>(bytes / kRingBytes, 1, cut.rings));
  const size_t share = (bytes + message.rings - 1) / message.rings;
  message.piece = static_cast<uint32_t>(std::min(std::max(kUnit, round_up(share, kUnit)), cut.slot_bytes));
  return message;
}

PairTable pair_table(std::span<const PeerTransfer> pairs, const PairCut& cut) {
  std::map<uint32_t, std::vector<PairMessage>> by_port;
  PairTable table;
  for (const PeerTransfer& pair : pairs) {
    const PairMessage message = cut_pair(pair.data, pair.bytes, cut);
    by_port[pair_port(pair.peer, pair.sends, cut.rings)].push_back(message);
    table.rings = std::max(table.rings, message.rings);
    table.piece = std::max(table.piece, static_cast<uint32_t>(std::min<size_t>(message.piece, pair.bytes)));
  }
  ByteWriter directions, messages;
  uint32_t first = 0;
  for (const auto& [port, list] : by_port) {
    const auto count = static_cast<uint32_t>(list.size());
    directions.put(PairDirection{port, first, count, port / cut.rings % 2});
    for (const PairMessage& message : list) messages.put(message);
    first += count;
  }
  table.directions = static_cast<uint32_t>(by_port.size());
  table.bytes = directions.take();
  const Bytes rest = messages.take();
  table.bytes.insert(table.bytes.end(), rest.begin(), rest.end());
  return table;
}

}  // namespace weir::exec::gpu
