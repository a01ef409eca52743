// SPDX-License-Identifier: Apache-2.0
/// Protocol of tcp's sockets; for the files of this folder only.
///
///     stream = greeting, frame, frame ...        all from sender to receiver, once the listener has admitted
///     it frame  = frame header, the bytes of a part of a message
///
/// A message may use any stream of its channel; numbers ascend on each stream. The receiver never sends on a
/// stream, so that a closing sender never destroys data in flight; it uses control connections
/// (transports/tcp/control.h), which are separate.
///
/// A channel over several paths has a control connection on each, and sends long messages in parts over
/// several streams. The receiver acknowledges messages on all control connections; the sender keeps messages
/// until then, and retransmits parts of a broken stream over other streams, in any order. The receiver
/// discards duplicates. Stream s uses path s mod `paths`.
///
/// A path whose streams are all abandoned is tried again: the sender opens its control connection anew, which
/// begins with the number of the attempt, and its streams, under keys of that attempt.
///
/// Numbers are in host order; weir runs on little-endian machines only.
/// Tests: tests/transports/tcp_failover_test.cc
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
inline constexpr uint32_t kLeastPart = 32 << 10;  ///< bytes; smaller parts are not worth a separate frame

struct Greeting {
  uint32_t magic = kGreetingMagic;
  uint32_t stream = 0;
  uint32_t streams = 0;
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  uint32_t paths = 0;  ///< number of paths if there are several; 0: one path, without acknowledgements
  int64_t life = 0;  ///< time at which the sending end was opened; later lives of a channel have a later one
};
static_assert(sizeof(Greeting) == 32);

struct FrameHeader {
  uint16_t magic = kFrameMagic;
  uint8_t part = 0;    ///< number of the part, among `parts` equal parts; the last may be shorter
  uint8_t parts = 1;   ///< 1 to kMostParts; equal in all frames of a message
  uint32_t bytes = 0;  ///< size of the whole message
  uint64_t tag = 0;
  uint64_t sequence = 0;  ///< number of the message in its channel, from 0

  uint32_t part_begin() const { return std::min(bytes, part * part_stride()); }
  uint32_t part_bytes() const { return std::min(bytes - part_begin(), part_stride()); }
  bool is_whole() const { return magic == kFrameMagic && parts > 0 && parts <= kMostParts && part < parts; }

 private:
  uint32_t part_stride() const { return bytes / parts + (bytes % parts > 0 ? 1 : 0); }
};
static_assert(sizeof(FrameHeader) == 24);

/// The key under which stream `stream` of a channel is delivered. `life`: 0 when a channel is opened, since
/// the receiver does not know its life yet; otherwise that of the attempt.
inline DeliveryKey delivery_key(uint64_t uid, Rank from, Rank to, uint32_t channel, uint32_t stream,
                                int64_t life = 0) {
  return {.scope = uid,
          .purpose = 1u << 31 | channel * kMostStreams | stream,
          .from = from,
          .to = to,
          .life = life};
}

/// Lives are times in nanoseconds, so that those after it are free for attempts.
inline int64_t life_of(int64_t life, uint32_t attempt) { return life + attempt; }

/// An attempt of a stream or path, as one number.
struct Attempt {
  uint32_t index = 0;   ///< of the stream or path
  uint32_t number = 0;  ///< 0: when the channel was opened

  uint64_t code() const { return uint64_t{number} << 32 | index; }
  static Attempt of(uint64_t code) {
    return {static_cast<uint32_t>(code), static_cast<uint32_t>(code >> 32)};
  }
};

/// The key of the control connection on a path. Each life of a channel has its own control connections, so
/// that an end that is about to close never takes one of the next life. Those of all attempts to use a path
/// again have the key of the first attempt.
inline DeliveryKey control_key(uint64_t uid, Rank from, Rank to, uint32_t channel, uint32_t path,
                               int64_t life) {
  return {.scope = uid, .purpose = 3u << 30 | path << 24 | channel, .from = from, .to = to, .life = life};
}

/// The first bytes of a stream.
inline Bytes opening(const Greeting& greeting) { return ByteWriter().put(greeting).take(); }

/// Number of messages that a channel over several paths keeps until they are acknowledged, so that enough
/// data is in flight meanwhile: the number of its slots, or more if these are few and small. The receiver has
/// slots for as many.
inline uint32_t kept_messages(const LinkSpec& spec) {
  constexpr uint32_t kMessages = 16;
  constexpr uint32_t kBytes = 1u << 20;
  return std::max(spec.slots, std::min(kMessages, kBytes / spec.slot_bytes));
}

/// Acknowledgement of a channel: all messages before `first` have arrived, and the later ones whose bit is
/// set; the lowest bit is for first + 1. Later acknowledgements have larger codes.
struct Acknowledgement {
  static constexpr uint32_t kBits = 16;

  uint64_t first = 0;
  uint64_t later = 0;

  uint64_t code() const { return first << kBits | later; }
  static Acknowledgement of(uint64_t code) { return {code >> kBits, code & ((1u << kBits) - 1)}; }
  bool has(uint64_t message) const {
    return message < first ||
           (message > first && message - first <= kBits && (later >> (message - first - 1) & 1) != 0);
  }
};

}  // namespace weir::tcp
