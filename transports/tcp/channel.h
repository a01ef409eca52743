// SPDX-License-Identifier: Apache-2.0
/// A channel over one or several TCP connections, with slots in private memory at both ends.
///
/// The sender connects to the receiver's listener and delivers its streams there; the receiver collects them.
/// Nothing blocks: connections and bytes move in ready(), publish() and progress().
///
/// Thread safety: each end is used by one thread at a time.
/// Tests: tests/transports/tcp_test.cc
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/net/listener/listener.h"
#include "src/net/path_choice.h"
#include "src/net/socket.h"
#include "transports/credit_budget.h"
#include "transports/tcp/rails.h"
#include "transports/tcp/shared.h"
#include "transports/transport.h"

namespace weir {

/// Addresses of a peer.
struct TcpPeer {
  SocketAddress listener;            ///< address of the peer's listener, for messages
  std::vector<tcp::RailPath> paths;  ///< paths to the peer, at least one
  bool credit = false;               ///< the receiver limits the bytes in flight; both ends agree on this
  Credentials credentials{};         ///< of the job, for the peer's listener
};

struct PathTimes {
  int64_t timeout_ns = 0;      ///< a path that has not answered for so long, while another has, is lost
  int64_t first_pause_ns = 0;  ///< until a lost path is tried again
};

/// `streams`: 1 to 64, distributed over the paths. With several paths the receiver acknowledges messages, and
/// the channel continues if one path breaks or is silent.
/// `uses`: counts the uses of routes, so that streams choose different routes through the fabric; null: the
/// kernel's choice. `uses` and `shared` outlive the end.
Result<std::unique_ptr<Sender>> open_tcp_sender(TcpPeer peer, uint64_t uid, uint32_t streams,
                                                const PathTimes& times, const LinkSpec& spec, PathUses* uses,
                                                tcp::Shared& shared);

/// `listener`, `budget` and `shared` outlive the end. The sender determines the number of streams.
/// REQUIRES: `budget` is not null if `peer` has credit.
Result<std::unique_ptr<Receiver>> open_tcp_receiver(Listener& listener, const TcpPeer& peer,
                                                    CreditBudget* budget, uint64_t uid, const LinkSpec& spec,
                                                    tcp::Shared& shared);

}  // namespace weir
