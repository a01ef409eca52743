// SPDX-License-Identifier: Apache-2.0
/// An all-gather of byte strings in ceil(log2(n)) rounds of one message each (Bruck's algorithm),
/// through listeners.
///
/// In the round of distance d, rank r sends what it has (its own bytes and those of the ranks above it, at
/// most d of them) to rank r - d and gets as much from rank r + d, modulo n.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/base/types.h"
#include "src/net/listener/listener.h"
#include "weir/status.h"

namespace weir::core {

struct BruckSpec {
  Listener* listener = nullptr;  ///< of this process
  uint64_t uid = 0;
  uint32_t number =
      0;  ///< of the exchange: equal on all ranks, different for exchanges of one uid that may overlap
  Rank rank = 0;
  int ranks = 1;
  /// Who takes part, if these are not all: then `rank` and `ranks` count in this list.
  std::span<const Rank> members = {};
  int64_t send_ms = 5000;  ///< for bringing a message to a listener
  const std::atomic<bool>* abort = nullptr;
  /// The listener of a member that is a power of two below this one.
  std::function<SocketAddress(Rank)> listener_of;
  /// Called about every 20 ms while nothing comes from `peer`, or it does not take what it is sent; an error
  /// ends the exchange.
  std::function<Status(Rank peer, int64_t waited_ns)> while_waiting;
  /// The error of the exchange when `to` could not be reached.
  std::function<Status(Rank to, const Status&)> broken;
};

/// Everybody's bytes, by rank, or in the order of the members.
Result<std::vector<Bytes>> bruck_all_gather(const BruckSpec& spec, BytesView own);

}  // namespace weir::core
