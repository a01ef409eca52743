/// What travels on the sockets of tcp; for the tcp_*.cc files only.
///
///     stream = the door's hello, greeting, frame, frame ...        all from sender to receiver
///     frame  = frame header, `bytes` bytes
///
/// Message k of a channel travels on stream k mod `streams`. Nothing travels the other way, so a sender that
/// closes never destroys what is under way: what receivers have to say goes over the control line
/// (transports/tcp_control.h), a connection of its own for channels that have one. Numbers are in host order;
/// weir runs on little-endian machines only.
#pragma once

#include <cstdint>

#include "src/base/door.h"
#include "transports/transport.h"

namespace weir::tcp {

inline constexpr uint32_t kGreetingMagic = 0x74637770;
inline constexpr uint32_t kFrameMagic = 0x6672616d;
inline constexpr uint32_t kMostStreams = 64;
inline constexpr uint32_t kMostChannels = 1u << 24;

struct Greeting {
  uint32_t magic = kGreetingMagic;
  uint32_t stream = 0;
  uint32_t streams = 0;
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  uint32_t reserved = 0;
  int64_t life = 0;  ///< time at which the sending end was opened: later lives of a channel have a later one
};
static_assert(sizeof(Greeting) == 32);

struct FrameHeader {
  uint32_t magic = kFrameMagic;
  uint32_t bytes = 0;
  uint64_t tag = 0;
  uint64_t sequence = 0;  ///< of the message in its channel, from 0
};
static_assert(sizeof(FrameHeader) == 24);

/// The key under which stream `stream` of a channel is delivered.
inline DeliveryKey delivery_key(uint64_t uid, Rank from, Rank to, uint32_t channel, uint32_t stream) {
  return {.scope = uid, .purpose = 1u << 31 | channel * kMostStreams | stream, .from = from, .to = to};
}

/// The key of its control line.
inline DeliveryKey control_key(uint64_t uid, Rank from, Rank to, uint32_t channel) {
  return {.scope = uid, .purpose = 3u << 30 | channel, .from = from, .to = to};
}

}  // namespace weir::tcp
