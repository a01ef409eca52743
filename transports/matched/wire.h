// SPDX-License-Identifier: Apache-2.0
/// What the two ends of a matched channel tell each other; for the files of this folder only.
///
/// Over a connection that the sender delivers at the receiver's listener, in frames (setup_connection.h):
///
///     sender -> receiver   offer       shape of the channel, and a device of the receiver per connection
///     receiver -> sender   answer      the network's handle for each connection; or a refusal
///     sender -> receiver   go          all connections work
///     sender -> receiver   fin         Leaving: so many messages come, in all
///     receiver -> sender   fin         Staying: so many were taken; so many receives were posted, in all
///
/// Over the network's connections: messages, a head and its bytes in one request. Message k of a channel
/// travels on connection k mod `connections`. The receiver has a receive posted for every free slot, and
/// these must all be met before a connection may close: whoever hears the other's fin does its part, the
/// receiver by posting no more, the sender by empty messages up to what was posted.
///
/// Numbers are in host order; weir runs on little-endian machines only.
#pragma once

#include <cstdint>

#include "src/net/listener/listener.h"
#include "transports/matched/channel.h"

namespace weir::matched {

struct Offer {
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  uint32_t connections = 0;  ///< so many numbers of rails (uint32_t) of the receiver follow
};

struct Answer {
  uint32_t slots = 0;  ///< of the receiver's end; other than the sender's: a refusal
  uint32_t slot_bytes = 0;
  uint32_t connections = 0;  ///< so many handles follow, with their lengths
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

/// The key under which a channel's connection is delivered; each transport has its own.
inline DeliveryKey delivery_key(const ChannelContext& context, Rank from, Rank to, uint32_t channel) {
  return {.scope = context.uid, .purpose = context.purpose | channel, .from = from, .to = to};
}

}  // namespace weir::matched
