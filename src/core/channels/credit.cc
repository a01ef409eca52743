// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/credit.h"

#include <algorithm>
#include <set>

namespace weir::core {
namespace {

constexpr double kSeconds = 1.3e-3;
constexpr double kLeastCredit = 64 << 10;
constexpr double kMostCredit = 4 << 20;

}  // namespace

uint64_t first_credit(const Options& options) {
  return options.credit_bytes >= 0 ? static_cast<uint64_t>(options.credit_bytes) : uint64_t{1} << 20;
}

uint64_t credit_of(const Options& options, double seconds_per_byte, std::span<const PeerAddress> peers,
                   Rank self) {
  std::set<int32_t> processes;
  for (const PeerAddress& peer : peers) {
    if (peer.host == peers[static_cast<size_t>(self)].host) processes.insert(peer.pid);
  }
  const double whole = options.credit_bytes >= 0 ? static_cast<double>(options.credit_bytes)
                                                 : std::clamp(kSeconds / std::max(seconds_per_byte, 1e-12),
                                                              kLeastCredit, kMostCredit);
  if (whole == 0) return 0;
  return std::max<uint64_t>(1, static_cast<uint64_t>(whole / static_cast<double>(processes.size())));
}

}  // namespace weir::core
