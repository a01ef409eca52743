// SPDX-License-Identifier: Apache-2.0
/// What travels on the sockets of tcp; for the files of this folder only.
///
///     stream = the listener's hello, greeting, frame, frame ...        all from sender to receiver
///     frame  = frame header, the bytes of a part of a message
///
/// A message travels on any stream of its channel, on each in ascending order. Nothing travels the other way,
/// so a sender that closes never destroys what is under way: what receivers have to say goes over control
/// control connections (transports/tcp/control.h), connections of their own for channels that have them.
///
/// A channel over several paths has a control connection on each, and long messages travel in parts over
/// several streams. The receiver says which messages have arrived, on all control connections; the sender
/// keeps messages until then, and sends parts of a stream that broke again over others, in any order. The
/// receiver drops what it has already. Stream s is over path s mod `paths`.
///
/// Numbers are in host order; weir runs on little-endian machines only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "src/net/listener/listener.h"
#include "transports/transport.h"

namespace weir::tcp {

inline constexpr uint32_t kGreetingMagic = 0x74637770;
inline constexpr uint16_t kFrameMagic = 0x6672;
inline constexpr uint32_t kMostStreams = 64;
inline constexpr uint32_t kMostPaths = 63;
inline constexpr uint32_t kMostChannels = 1u << 24;
inline constexpr uint32_t kMostParts = 8;
inline constexpr uint32_t kLeastPart = 32 << 10;  ///< bytes: less is not worth a frame of its own

struct Greeting {
  uint32_t magic = kGreetingMagic;
  uint32_t stream = 0;
  uint32_t streams = 0;
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  uint32_t paths = 0;  ///< if several; 0: one, and the receiver does not say what has arrived
  int64_t life = 0;  ///< time at which the sending end was opened: later lives of a channel have a later one
};
static_assert(sizeof(Greeting) == 32);

struct FrameHeader {
  uint16_t magic = kFrameMagic;
  uint8_t part = 0;    ///< which of its `parts` equal parts this frame brings; the last may be shorter
  uint8_t parts = 1;   ///< 1 to kMostParts; of one message always the same
  uint32_t bytes = 0;  ///< of the whole message
  uint64_t tag = 0;
  uint64_t sequence = 0;  ///< of the message in its channel, from 0

  uint32_t part_begin() const { return std::min(bytes, part * part_stride()); }
  uint32_t part_bytes() const { return std::min(bytes - part_begin(), part_stride()); }
  bool is_whole() const { return magic == kFrameMagic && parts > 0 && parts <= kMostParts && part < parts; }

 private:
  uint32_t part_stride() const { return bytes / parts + (bytes % parts > 0 ? 1 : 0); }
};
static_assert(sizeof(FrameHeader) == 24);

/// The key under which stream `stream` of a channel is delivered.
inline DeliveryKey delivery_key(uint64_t uid, Rank from, Rank to, uint32_t channel, uint32_t stream) {
  return {.scope = uid, .purpose = 1u << 31 | channel * kMostStreams | stream, .from = from, .to = to};
}

/// The key of the control connection on a path. Another life has control connections of its own, so that an
/// end that is about to close never takes one of the next.
inline DeliveryKey control_key(uint64_t uid, Rank from, Rank to, uint32_t channel, uint32_t path,
                               int64_t life) {
  return {.scope = uid, .purpose = 3u << 30 | path << 24 | channel, .from = from, .to = to, .life = life};
}

/// What a stream begins with.
inline Bytes opening(const DeliveryKey& key, const Greeting& greeting) {
  Bytes bytes = delivery_hello(key);
  const auto raw = std::as_bytes(std::span(&greeting, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

/// Messages that a channel over several paths keeps until they have arrived, so that there is enough under
/// way while word of them is: its slots, or more where these are few and small. The receiver has room for as
/// many.
inline uint32_t kept_messages(const LinkSpec& spec) {
  constexpr uint32_t kMessages = 16;
  constexpr uint32_t kBytes = 1u << 20;
  return std::max(spec.slots, std::min(kMessages, kBytes / spec.slot_bytes));
}

/// What a receiver says of a channel: all messages before `first` have arrived, and of those after it the
/// ones whose bit is set, the lowest for first + 1. Later ones are larger numbers.
struct Arrived {
  static constexpr uint32_t kBits = 16;

  uint64_t first = 0;
  uint64_t later = 0;

  uint64_t code() const { return first << kBits | later; }
  static Arrived of(uint64_t code) { return {code >> kBits, code & ((1u << kBits) - 1)}; }
  bool has(uint64_t message) const {
    return message < first ||
           (message > first && message - first <= kBits && (later >> (message - first - 1) & 1) != 0);
  }
};

}  // namespace weir::tcp
