// SPDX-License-Identifier: Apache-2.0
/// A channel over RDMA queue pairs, with slots in registered memory at both ends.
///
/// Part by part, a message is written from the sender's slot into the receiver's slot of the same number; a
/// 32-bit immediate tells the receiver that it is there, and others tell the sender how many messages were
/// taken. Queue pairs that break are given up while another is left (queue_pairs.h): the sender sends again
/// what nobody has confirmed, the receiver drops what it has already.
///
/// Thread safety: each end is used by one thread at a time. Nothing blocks.
#pragma once

#include <memory>
#include <vector>

#include "src/net/listener/listener.h"
#include "src/net/socket.h"
#include "transports/transport.h"
#include "transports/verbs/queue_pairs.h"

namespace weir::verbs {

/// What both ends need. What it points to outlives the ends.
struct ChannelContext {
  Rails* rails = nullptr;
  uint64_t uid = 0;  ///< of the communicator
  SocketAddress peer_listener;
  QueuePairSettings settings;
  LiveNetCounters* live_counters = nullptr;
  const LentMemory* lent = nullptr;  ///< that has LinkSpec::lent; null where that is
};

/// `places`: one or more queue pairs, at most kMostQueuePairs.
Result<std::unique_ptr<Sender>> open_verbs_sender(const ChannelContext& context,
                                                  std::vector<QueuePairs::Place> places,
                                                  const LinkSpec& spec);

/// `listener` outlives the end. The sender decides about queue pairs.
Result<std::unique_ptr<Receiver>> open_verbs_receiver(const ChannelContext& context, Listener& listener,
                                                      const LinkSpec& spec);

/// "rank 3 (address 10.0.0.1:99)".
std::string peer_text(const ChannelContext& context, const LinkSpec& spec);

/// Parts that the body of a message of a channel has at most, with its head, over `queue_pairs` queue pairs
/// of `rails`.
uint32_t most_parts(const QueuePairSettings& settings, uint32_t queue_pairs, uint32_t slot_bytes,
                    uint32_t most_bytes);

/// Requests that a queue pair must take: all parts of all slots, and heads that are apart, may come to be on
/// one queue pair, and news of other queue pairs.
inline uint32_t depth_of(uint32_t slots, uint32_t parts, uint32_t queue_pairs) {
  return slots * (parts + 1) + queue_pairs * (queue_pairs + 1) + 2;
}

}  // namespace weir::verbs
