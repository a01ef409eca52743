// SPDX-License-Identifier: Apache-2.0
/// An all-gather of byte strings in ceil(log2(n)) rounds of one message each (Bruck's algorithm),
/// through listeners.
///
/// In the round of distance d, rank r sends what it has (its own bytes and those of the ranks above it, at
/// most d of them) to rank r - d and gets as much from rank r + d, modulo n.
/// Tests: tests/core/bootstrap_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/base/types.h"
#include "src/net/listener/listener.h"
#include "src/net/listener/message_connection.h"

namespace weir::core {

struct BruckSpec {
  Listener* listener = nullptr;               ///< this process's listener
  MessageConnections* connections = nullptr;  ///< carry the messages; stay open
  uint64_t uid = 0;
  /// Number of the exchange: equal on all ranks, different for exchanges of one uid that may overlap.
  uint32_t number = 0;
  Rank rank = 0;
  int ranks = 1;
  /// The participants, if not all ranks take part; `rank` and `ranks` then refer to this list.
  std::span<const Rank> members = {};
  int64_t send_ms = 0;  ///< time limit for one message to a listener; 0: `while_waiting` alone ends it; ms
  const std::atomic<bool>* abort = nullptr;
  /// The listener of a member whose distance below this one is a power of two.
  std::function<SocketAddress(Rank)> listener_of;
  /// Called about every 20 ms while `peer` sends nothing, or does not accept a message; an error ends the
  /// exchange.
  std::function<Status(Rank peer, int64_t waited_ns)> while_waiting;
  /// Makes the exchange's error from that of a message that did not reach `to`.
  std::function<Status(Rank to, const Status&)> broken;
};

/// The bytes of all ranks, indexed by rank, or by position in `members`.
Result<std::vector<Bytes>> bruck_all_gather(const BruckSpec& spec, BytesView own);

}  // namespace weir::core
