/// What the two ends of a channel of net_plugin tell each other; for the net_plugin*.cc files only.
///
/// Over a connection that the sender delivers at the receiver's door, in frames (line.h):
///
///     sender -> receiver   offer       shape of the channel, and a device of the receiver per connection
///     receiver -> sender   answer      the plugin's handle for each connection; or a refusal
///     sender -> receiver   go          all connections work
///     sender -> receiver   farewell    Leaving: so many messages come, in all
///     receiver -> sender   farewell    Staying: so many were taken; so many receives were posted, in all
///
/// Over the plugin's connections: messages, a head and its bytes in one request. Message k of a channel
/// travels on connection k mod `connections`. The receiver has a receive posted for every free slot, and
/// these must all be met before a connection may close: whoever hears the other's farewell does its part, the
/// receiver by posting no more, the sender by empty messages up to what was posted.
///
/// Numbers are in host order; weir runs on little-endian machines only.
#pragma once

#include <cstdint>

#include "src/base/door.h"
#include "transports/transport.h"

namespace weir::net {

inline constexpr uint32_t kMostConnections = 8;
inline constexpr uint32_t kMostChannels = 1u << 28;

struct Offer {
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  uint32_t connections = 0;  ///< so many numbers of rails (uint32_t) of the receiver follow
};

struct Answer {
  uint32_t slots = 0;  ///< of the receiver's end; other than the sender's: a refusal
  uint32_t slot_bytes = 0;
  uint32_t connections = 0;  ///< so many NetHandle follow
};

struct Leaving {
  uint64_t messages = 0;
};

struct Staying {
  uint64_t taken = 0;
  uint64_t posted = 0;
};

/// In front of the bytes of a message.
struct MessageHead {
  uint64_t tag = 0;
  uint64_t sequence = 0;  ///< from 0
  uint32_t bytes = 0;
  uint32_t magic = 0x6e706c67;
  uint64_t reserved = 0;
};
static_assert(sizeof(MessageHead) == 32);

/// The key under which a channel's connection is delivered.
inline DeliveryKey delivery_key(uint64_t uid, Rank from, Rank to, uint32_t channel) {
  return {.scope = uid, .purpose = 3u << 29 | channel, .from = from, .to = to};
}

}  // namespace weir::net
