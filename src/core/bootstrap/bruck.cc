// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/bruck.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/net/socket.h"

namespace weir::core {
namespace {

constexpr uint32_t kExchangePurpose = 0xb007'0000;  ///< purpose of messages of bootstrap exchanges

Result<Bytes> await(const BruckSpec& spec, const DeliveryKey& key) {
  const int64_t start = now_ns();
  for (;;) {
    if (auto message = spec.listener->receive(key, Deadline::in_ms(kPollSliceMs, spec.abort)))
      return std::move(*message);
    if (spec.abort != nullptr && spec.abort->load()) {
      return Status(Code::invalid_usage,
                    fmt::format("the communicator was aborted while waiting for rank {}", key.from));
    }
    WEIR_TRY(spec.while_waiting(key.from, now_ns() - start));
  }
}

Status send(const BruckSpec& spec, const DeliveryKey& key, Bytes message) {
  const SocketAddress listener = spec.listener_of(key.to);
  if (listener == spec.listener->address()) {
    spec.listener->put(key, std::move(message));
    return {};
  }
  const int64_t start = now_ns();
  const Deadline deadline =
      spec.send_ms > 0 ? Deadline::in_ms(spec.send_ms, spec.abort) : Deadline::never(spec.abort);
  Status verdict;
  const Status status = spec.connections->send(listener, key, message, deadline, [&] {
    return verdict = spec.while_waiting(key.to, now_ns() - start);
  });
  if (status.ok() || !verdict.ok() || (spec.abort != nullptr && spec.abort->load())) return status;
  return spec.broken(key.to, status);
}

}  // namespace

Result<std::vector<Bytes>> bruck_all_gather(const BruckSpec& spec, BytesView own) {
  const auto ranks = static_cast<size_t>(spec.ranks);
  const auto rank = static_cast<size_t>(spec.rank);
  const auto member = [&](size_t index) {
    return spec.members.empty() ? static_cast<Rank>(index) : spec.members[index];
  };
  const Rank self = member(rank);
  std::vector<Bytes> from_here = {Bytes(own.begin(), own.end())};  // bytes of rank, rank + 1, ...
  uint32_t round = 0;
  for (size_t distance = 1; distance < ranks; distance *= 2, ++round) {
    const Rank below = member((rank + ranks - distance) % ranks);
    const Rank above = member((rank + distance) % ranks);
    const size_t count = std::min(distance, ranks - distance);
    // A rank runs one exchange at a time, so a few bits of the number tell consecutive ones apart.
    const uint32_t purpose = kExchangePurpose | (spec.number & 0x7ff) << 5 | round;
    ByteWriter out;
    for (size_t i = 0; i < count; ++i) out.put_bytes(from_here[i]);
    WEIR_TRY(send(spec, {spec.uid, purpose, self, below}, out.take()));
    auto message = await(spec, {spec.uid, purpose, above, self});
    WEIR_TRY(message.status());
    ByteReader in(*message);
    for (size_t i = 0; i < count; ++i) from_here.push_back(in.get_bytes());
    if (!in.ok() || in.remaining() != 0) {
      return Status(Code::remote_error, fmt::format("rank {} sent {} bytes that are not a bootstrap message",
                                                    above, message->size()));
    }
  }
  std::ranges::rotate(from_here, from_here.begin() + static_cast<ptrdiff_t>((ranks - rank) % ranks));
  return from_here;
}

}  // namespace weir::core
