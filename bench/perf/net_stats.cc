// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/net_stats.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "weir/net_stats.h"

// Only weir has this function; with another library it is null.
extern "C" __attribute__((weak)) int weirCommNetStats(struct ncclComm* comm, weirNetStats_t* stats,
                                                      size_t size);

namespace weir::perf {

static_assert(sizeof(weirNetStats_t) == kNetStatNames.size() * sizeof(uint64_t));

bool counts_network() { return weirCommNetStats != nullptr; }

Outcome NetMeter::read(NetStats* sum) {
  *sum = {};
  if (!counts_network()) return Outcome();
  for (const LocalRank& rank : ranks_) {
    weirNetStats_t stats;
    WEIR_TRY(nccl(static_cast<ncclResult_t>(weirCommNetStats(rank.communicator, &stats, sizeof(stats)))));
    if (!first_on_host_ || &rank != &ranks_.front()) stats.droppedPackets = stats.portRetries = 0;
    std::array<uint64_t, kNetStatNames.size()> numbers;
    std::memcpy(numbers.data(), &stats, sizeof(stats));
    for (size_t i = 0; i < numbers.size(); ++i) sum->counts[i] += static_cast<double>(numbers[i]);
  }
  return Outcome();
}

Outcome NetMeter::end() {
  NetStats after;
  WEIR_TRY(read(&after));
  for (size_t i = 0; i < after.counts.size(); ++i)
    counted_.counts[i] += std::max(after.counts[i] - before_.counts[i], 0.0);
  return Outcome();
}

}  // namespace weir::perf
