// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/network_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/net/connection_state.h"

namespace weir::core {
namespace {

constexpr size_t kMostDescribed = 3;  ///< more connections would hide the rest of the sentence

/// The transports that have connections. Only counters() of a transport may be called on any thread.
using Networks = std::vector<std::pair<const Transport*, const ConnectionSet*>>;

NetworkFinding look_at(const Networks& transports) {
  NetworkFinding found;
  for (const auto& [transport, connections] : transports) {
    const std::vector<ConnectionState> states = connections->unacknowledged();
    if (states.empty()) continue;
    found.lost = found.lost || states.front().lost();
    for (size_t i = 0; i < std::min(states.size(), kMostDescribed); ++i)
      found.words += (found.words.empty() ? "" : "; ") + states[i].describe();
    if (states.size() > kMostDescribed)
      found.words += fmt::format("; and {} further connections", states.size() - kMostDescribed);
    const NetCounters counted = transport->counters();
    found.words += fmt::format(
        "; since the start the interfaces of this host have dropped {} packets and counted {} errors",
        counted.dropped, counted.damaged);
  }
  return found;
}

}  // namespace

NetworkReport::NetworkReport(Activity& activity, const std::vector<std::unique_ptr<Transport>>& transports)
    : activity_(activity) {
  Networks networks;
  for (const auto& transport : transports) {
    const ConnectionSet* const connections = transport->traits().connections;
    if (connections != nullptr) networks.emplace_back(transport.get(), connections);
  }
  activity_.tell_network([networks = std::move(networks)] { return look_at(networks); });
}

NetworkReport::~NetworkReport() { activity_.tell_network(nullptr); }

}  // namespace weir::core
