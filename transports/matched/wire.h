// SPDX-License-Identifier: Apache-2.0
/// Protocol between the two ends of a matched channel; for the files of this folder only.
///
/// Over a connection that the sender delivers at the receiver's listener, in frames (setup_connection.h):
///
///     sender -> receiver   offer       shape of the channel, and a device of the receiver per connection
///     receiver -> sender   answer      the network's handle for each connection; or a refusal
///     sender -> receiver   go          all connections work
///     sender -> receiver   fin         Leaving: total number of messages
///     receiver -> sender   fin         Staying: total numbers of messages taken and of receives posted
///
/// Over the network's connections: messages, each a head and its bytes in one request. Message k of a channel
/// uses connection k mod `connections`. The receiver posts a receive for every free slot. All of these must
/// be matched before a connection may close: on the peer's fin, the receiver stops posting, and the sender
/// sends empty messages for the receives that remain.
///
/// Numbers are in host order; weir runs on little-endian machines only.
/// Tests: tests/transports/net_plugin_test.cc
#pragma once

#include <cstdint>

#include "src/net/listener/listener.h"
#include "transports/matched/channel.h"

namespace weir::matched {

struct Offer {
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  uint32_t connections = 0;  ///< count; that many rails of the receiver (uint32_t) follow
};

struct Answer {
  uint32_t slots = 0;  ///< slots of the receiver's end; a value other than the sender's refuses the offer
  uint32_t slot_bytes = 0;
  uint32_t connections = 0;  ///< count; that many handles with their lengths follow
};

struct Leaving {
  uint64_t messages = 0;
};

struct Staying {
  uint64_t taken = 0;
  uint64_t posted = 0;
};

/// Header of a message.
struct MessageHead {
  uint64_t tag = 0;
  uint64_t sequence = 0;  ///< number of the message, from 0
  uint32_t bytes = 0;
  uint32_t magic = 0x6e706c67;
  uint64_t reserved = 0;
};
static_assert(sizeof(MessageHead) == 32);

/// Delivery key of a channel's connection; different for each transport.
inline DeliveryKey delivery_key(const ChannelContext& context, Rank from, Rank to, uint32_t channel) {
  return {.scope = context.uid, .purpose = context.purpose | channel, .from = from, .to = to};
}

}  // namespace weir::matched
