// SPDX-License-Identifier: Apache-2.0
/// Network counters of a row, if the library has them (weir/net_stats.h; NCCL does not).
#pragma once

#include <nccl.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "bench/perf/outcome.h"
#include "bench/perf/ranks.h"

namespace weir::perf {

/// The fields of weirNetStats_t, in their order.
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

/// Whether the library counts network traffic.
bool counts_network();

/// Counts for the ranks of one thread, between begin() and end(), which may be called several times. Does
/// nothing if the library does not count. Not thread-safe.
class NetMeter {
 public:
  /// `first_on_host`: the first of these ranks reports the host's dropped packets and retries; other ranks of
  /// the host would report the same ones.
  NetMeter(std::vector<LocalRank>& ranks, bool first_on_host)
      : ranks_(ranks), first_on_host_(first_on_host) {}

  Outcome begin() { return read(&before_); }
  Outcome end();
  /// Returns the counts and resets them to zero.
  NetStats take() { return std::exchange(counted_, NetStats()); }

 private:
  Outcome read(NetStats* sum);

  std::vector<LocalRank>& ranks_;
  const bool first_on_host_;
  NetStats before_;
  NetStats counted_;
};

}  // namespace weir::perf
