// SPDX-License-Identifier: Apache-2.0
/// A channel over one or several TCP connections, with slots in private memory at both ends.
///
/// The sender connects to the receiver's listener and delivers its streams there; the receiver collects them.
/// Nothing blocks: connections and bytes move in ready(), publish() and progress().
///
/// Thread safety: each end is used by one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/net/listener/listener.h"
#include "src/net/path_choice.h"
#include "src/net/socket.h"
#include "transports/credit_budget.h"
#include "transports/tcp/counters.h"
#include "transports/tcp/rails.h"
#include "transports/transport.h"

namespace weir {

/// Where a peer is.
struct TcpPeer {
  SocketAddress listener;        ///< for sentences
  std::vector<tcp::Path> paths;  ///< at least one
  bool credit = false;           ///< the receiver limits what is under way; both ends know
};

/// `streams`: 1 to 64, dealt over the paths. With several paths the receiver says what has arrived, and the
/// channel goes on when one of them breaks, or has not answered for `path_timeout_ns` while another has.
/// `uses`: for streams to choose their ways through the fabric by; null: they take what they get. `uses` and
/// `counters` outlive the end.
Result<std::unique_ptr<Sender>> open_tcp_sender(TcpPeer peer, uint64_t uid, uint32_t streams,
                                                int64_t path_timeout_ns, const LinkSpec& spec, PathUses* uses,
                                                tcp::Counters& counters);

/// `listener`, `budget` and `live_counters` outlive the end. The sender decides the number of streams.
/// REQUIRES: a budget where `peer` has credit.
Result<std::unique_ptr<Receiver>> open_tcp_receiver(Listener& listener, const TcpPeer& peer,
                                                    CreditBudget* budget, uint64_t uid, const LinkSpec& spec,
                                                    LiveNetCounters& live_counters);

}  // namespace weir
