// SPDX-License-Identifier: Apache-2.0
/// A channel over RDMA queue pairs, with slots in registered memory at both ends.
///
/// Messages are written in parts from the sender's slot into the receiver's slot of the same number; 32-bit
/// immediates tell the receiver that a part has arrived, and tell the sender how many messages were taken.
/// Queue pairs that break are abandoned while others work (queue_pairs.h): the sender retransmits what was
/// not acknowledged, the receiver discards duplicates. The sender tries them again (failback.h).
///
/// Thread safety: each end is used by one thread at a time. Nothing blocks.
/// Tests: tests/transports/verbs_test.cc
#pragma once

#include <memory>
#include <vector>

#include "src/net/listener/listener.h"
#include "src/net/socket.h"
#include "transports/transport.h"
#include "transports/verbs/queue_pairs.h"

namespace weir::verbs {

/// Context of both ends. All objects that it points to outlive the ends.
struct ChannelContext {
  Rails* rails = nullptr;
  uint64_t uid = 0;  ///< id of the communicator
  SocketAddress peer_listener;
  Credentials credentials{};  ///< of the job, for that listener
  QueuePairSettings settings;
  LiveNetCounters* live_counters = nullptr;
  const RegisteredMemory* registered =
      nullptr;  ///< registered memory that contains LinkSpec::slot_memory; null if that is null
};

/// `places`: one entry per queue pair, 1 to kMostQueuePairs.
Result<std::unique_ptr<Sender>> open_verbs_sender(const ChannelContext& context,
                                                  std::vector<QueuePairs::Place> places,
                                                  const LinkSpec& spec);

/// `listener` outlives the end. The sender determines the queue pairs.
Result<std::unique_ptr<Receiver>> open_verbs_receiver(const ChannelContext& context, Listener& listener,
                                                      const LinkSpec& spec);

/// Formats "rank 3 (address 10.0.0.1:99)".
std::string peer_text(const ChannelContext& context, const LinkSpec& spec);

/// Largest number of parts of a message's body, including its head, over `queue_pairs` queue pairs of
/// `rails`.
uint32_t most_parts(const QueuePairSettings& settings, uint32_t queue_pairs, uint32_t slot_bytes,
                    uint32_t most_bytes);

/// Number of requests that each queue pair must take: in the worst case all parts of all slots with separate
/// heads, and notices about other queue pairs; a probe and its answer.
inline uint32_t depth_of(uint32_t slots, uint32_t parts, uint32_t queue_pairs) {
  return slots * (parts + 1) + queue_pairs * (queue_pairs + 1) + 4;
}

}  // namespace weir::verbs
