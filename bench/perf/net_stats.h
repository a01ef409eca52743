// SPDX-License-Identifier: Apache-2.0
/// What a row has sent over networks, where the library tells (weir/net_stats.h; NCCL's does not).
#pragma once

#include <nccl.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "bench/perf/outcome.h"
#include "bench/perf/ranks.h"

namespace weir::perf {

/// What weirNetStats_t has, in its order.
enum class NetStat : size_t {
  sent_bytes,
  received_bytes,
  sent_messages,
  received_messages,
  grants,
  stalls,
  stalled_ns,
  abandoned_connections,
  retransmitted_segments,
  dropped_packets,
  port_retries,
};

inline constexpr std::array<const char*, 11> kNetStatNames = {
    "sent_bytes",  "received_bytes", "sent_messages",         "received_messages",      "grants",
    "stalls",      "stalled_ns",     "abandoned_connections", "retransmitted_segments", "dropped_packets",
    "port_retries"};

struct NetStats {
  std::array<double, kNetStatNames.size()> counts = {};

  double operator[](NetStat which) const { return counts[static_cast<size_t>(which)]; }
};

/// Whether the library tells.
bool counts_network();

/// Counts for the ranks of one thread, between begin() and end(), which may follow each other several times.
/// Without a library that tells it does nothing. Not thread-safe.
class NetMeter {
 public:
  /// `first_on_host`: the first of these ranks tells the host's dropped packets and retries. Others tell the
  /// same ones.
  NetMeter(std::vector<LocalRank>& ranks, bool first_on_host)
      : ranks_(ranks), first_on_host_(first_on_host) {}

  Outcome begin() { return read(&before_); }
  Outcome end();
  /// What was counted, which begins anew at zero.
  NetStats take() { return std::exchange(counted_, NetStats()); }

 private:
  Outcome read(NetStats* sum);

  std::vector<LocalRank>& ranks_;
  const bool first_on_host_;
  NetStats before_;
  NetStats counted_;
};

}  // namespace weir::perf
