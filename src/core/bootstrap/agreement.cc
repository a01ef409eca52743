// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/agreement.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.h"
#include "src/net/socket.h"

namespace weir::core {
namespace {

constexpr uint32_t kAgreementPurpose = 0x51de'0000;  ///< purpose of an agreement's messages

bool aborted(const AgreementSpec& spec) { return spec.abort != nullptr && spec.abort->load(); }

Status tell(const AgreementSpec& spec, Rank to, const Bytes& list) {
  const DeliveryKey key{spec.uid, kAgreementPurpose, spec.rank, to};
  const SocketAddress& listener = spec.watchdog->peers()[static_cast<size_t>(to)].listener;
  if (listener == spec.listener->address()) {
    spec.listener->put(key, list);
    return {};
  }
  const int64_t start = now_ns();
  const Status status = post(listener, key, spec.credentials, list, Deadline::in_ms(spec.come_ms, spec.abort),
                             [&] { return spec.watchdog->examine(to, now_ns() - start); });
  return status.ok() || aborted(spec) ? status : spec.watchdog->explain(to, status);
}

/// The rank's list of this shrink or of a later one, which stays with the listener.
Result<ExclusionList> hear(const AgreementSpec& spec, Rank from) {
  const DeliveryKey key{spec.uid, kAgreementPurpose, from, spec.rank};
  const int64_t start = now_ns();
  for (;;) {
    if (auto message = spec.listener->receive(key, Deadline::in_ms(kPollSliceMs, spec.abort))) {
      ExclusionList list = read_list(*message);
      if (list.number < spec.number) continue;  // of a shrink that has ended
      if (list.number > spec.number) spec.listener->put(key, std::move(*message));
      return list;
    }
    if (aborted(spec))
      return Status(Code::invalid_usage,
                    fmt::format("the communicator was aborted while waiting for rank {}", from));
    const int64_t waited_ns = now_ns() - start;
    WEIR_TRY(spec.watchdog->examine(from, waited_ns));
    if (waited_ns > spec.come_ms * kNsPerMs)
      return spec.watchdog->fail(
          {from,
           Status(Code::remote_error,
                  fmt::format("ncclCommShrink timed out after {:.1f} s (WEIR_INIT_TIMEOUT) waiting for {}; "
                              "every remaining rank must exclude the same ranks ({})",
                              static_cast<double>(waited_ns) / 1e9,
                              spec.watchdog->peers()[static_cast<size_t>(from)].describe(from),
                              rank_words(spec.excluded)))});
  }
}

/// An error that names both lists if another rank's list differs from this rank's.
Status compare(const AgreementSpec& spec, Rank from, const std::vector<Rank>& theirs) {
  if (theirs == spec.excluded) return {};
  const auto& peers = spec.watchdog->peers();
  return spec.watchdog->fail(
      {-1, Status(Code::invalid_argument,
                  fmt::format(
                      "{} excludes {}, but {} excludes {}; expected the same list on all remaining ranks",
                      peers[static_cast<size_t>(spec.rank)].describe(spec.rank), rank_words(spec.excluded),
                      peers[static_cast<size_t>(from)].describe(from), rank_words(theirs)))});
}

}  // namespace

Bytes write_list(uint32_t number, std::span<const Rank> ranks) {
  ByteWriter out;
  out.put(number).put(static_cast<uint32_t>(ranks.size()));
  for (const Rank rank : ranks) out.put(rank);
  return out.take();
}

ExclusionList read_list(BytesView bytes) {
  ByteReader in(bytes);
  ExclusionList list{in.get<uint32_t>(), {}};
  list.ranks.resize(in.count(sizeof(Rank)));
  for (Rank& rank : list.ranks) rank = in.get<Rank>();
  return list;
}

std::string rank_words(std::span<const Rank> ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  std::string words = ranks.empty() ? "no rank" : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    words += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return words;
}

Result<uint32_t> agree(const AgreementSpec& spec) {
  const auto ranks = static_cast<Rank>(spec.watchdog->peers().size());
  std::vector<Rank> others;  // each rank starts with a different one
  for (Rank step = 1; step < ranks; ++step) {
    const Rank rank = (spec.rank + step) % ranks;
    if (!std::ranges::binary_search(spec.excluded, rank)) others.push_back(rank);
  }
  const Bytes list = write_list(spec.number, spec.excluded);
  for (const Rank other : others) WEIR_TRY(tell(spec, other, list));
  for (const Rank other : others) {
    auto theirs = hear(spec, other);
    WEIR_TRY(theirs.status());
    if (theirs->number > spec.number) {
      WEIR_TRY(spec.watchdog->examine(other, 0));  // it may have given up this one
      return theirs->number;
    }
    WEIR_TRY(compare(spec, other, theirs->ranks));
  }
  return spec.number;
}

}  // namespace weir::core
