// SPDX-License-Identifier: Apache-2.0
/// Protocol between the two ends of a channel of verbs; for the files of this folder only.
///
/// Over a connection that the sender delivers at the receiver's listener, in frames (setup_connection.h):
///
///     sender -> receiver   offer       shape of the channel, and its end of each queue pair
///     receiver -> sender   answer      where its slots are, and its end of each queue pair; or a refusal
///     sender -> receiver   go          all queue pairs work
///     both                 fin         at the end: number of messages published, or taken
///
/// For a queue pair that both ends have halted, there as well:
///
///     sender -> receiver   reopen      a new queue pair in its place: an attempt, and the sender's end of it
///     receiver -> sender   reopened    its own end; or a refusal
///     sender -> receiver   abandon     the attempt is over
///
/// Over the queue pairs, in immediates (32 bits):
///
///     sender -> receiver   data        with the bytes of one part of a message, into its slot
///     receiver -> sender   credit      total number of messages taken
///     both                 halted      this end of queue pair n receives nothing any more
///     both                 probe       the first on a new queue pair, which the receiver answers
///
/// Numbers are in host order; weir runs on little-endian machines only.
/// Tests: tests/transports/verbs_test.cc
#pragma once

#include <array>
#include <cstdint>

#include "src/net/listener/listener.h"
#include "transports/transport.h"

namespace weir::verbs {

inline constexpr uint32_t kMostQueuePairs = 64;
inline constexpr uint32_t kMostChannels = 1u << 28;
inline constexpr uint32_t kMostSlots = 1u << 16;

/// One end of a queue pair.
struct QueuePairEnd {
  uint32_t pair = 0;      ///< number of the queue pair
  uint32_t first = 0;     ///< first packet number of this end
  uint32_t key = 0;       ///< key of the receiver's heads, for the device of this queue pair
  uint32_t body_key = 0;  ///< key of the receiver's bodies
  uint32_t mtu = 0;       ///< largest payload of a packet; bytes
  uint16_t lid = 0;
  uint16_t peer_port = 0;  ///< in an offer: number of the port in the receiver's transport address
  std::array<uint8_t, 16> gid{};
};
static_assert(sizeof(QueuePairEnd) == 40);

struct Offer {
  uint32_t slots = 0;
  uint32_t slot_bytes = 0;
  uint32_t queue_pairs = 0;  ///< count; that many QueuePairEnd follow
};

struct Answer {
  uint32_t slots = 0;  ///< slots of the receiver's end; a value other than the sender's refuses the offer
  uint32_t slot_bytes = 0;
  uint32_t queue_pairs = 0;
  uint32_t apart = 0;        ///< 1: bodies are separate from their heads
  uint32_t head_stride = 0;  ///< distance between slots; bytes
  uint32_t body_stride = 0;
  uint64_t heads = 0;  ///< address of the first head
  uint64_t bodies = 0;
};

/// An attempt to use the place of a halted queue pair again; with reopen and reopened, a QueuePairEnd
/// follows.
struct QueuePairAttempt {
  uint32_t queue_pair = 0;
  uint32_t number = 0;   ///< 1 is the first attempt of this queue pair, 0 the queue pair of the offer
  uint32_t refused = 0;  ///< of reopened; 1: no QueuePairEnd follows
};

/// Header of a message. It precedes the bytes of the message (its body), or, if slots of either end are in
/// registered GPU memory, it is sent separately as the first part.
struct MessageHead {
  uint64_t tag = 0;
  uint64_t sequence = 0;  ///< number of the message, from 0
  uint32_t bytes = 0;
  uint32_t parts = 1;
  uint64_t reserved = 0;
};
static_assert(sizeof(MessageHead) == 32);

/// Distance between slots: header, bytes, and padding to the next cache line.
inline size_t slot_stride(uint32_t slot_bytes) {
  return (sizeof(MessageHead) + size_t{slot_bytes} + 63) / 64 * 64;
}

struct Immediate {
  enum class Kind : uint32_t { data, credit, halted, probe };
  static constexpr uint32_t kCountBits = 24;
  static constexpr uint32_t kCountMask = (1u << kCountBits) - 1;

  Kind kind = Kind::data;
  uint32_t part = 0;   ///< part of the message: 0 to 63
  uint32_t count = 0;  ///< sequence or messages taken (both modulo 2^24), or QueuePairAttempt (of_attempt)

  /// halted and probe: the queue pair, and the number of the attempt modulo 2^18.
  static Immediate of_attempt(Kind kind, uint32_t queue_pair, uint32_t attempt) {
    return {kind, 0, (attempt * kMostQueuePairs + queue_pair) & kCountMask};
  }
  uint32_t queue_pair() const { return count % kMostQueuePairs; }
  bool is_of_attempt(uint32_t attempt) const {
    return count / kMostQueuePairs == (attempt & kCountMask / kMostQueuePairs);
  }
  uint32_t code() const {
    return static_cast<uint32_t>(kind) << 30 | part << kCountBits | (count & kCountMask);
  }
  static Immediate of(uint32_t code) {
    return {static_cast<Kind>(code >> 30), code >> kCountBits & 63, code & kCountMask};
  }
  /// Distance of `count` from the low bits of `base`: 0 to 2^24 - 1.
  uint32_t ahead_of(uint64_t base) const { return (count - static_cast<uint32_t>(base)) & kCountMask; }
};

/// The key under which a channel's connection is delivered.
inline DeliveryKey delivery_key(uint64_t uid, Rank from, Rank to, uint32_t channel) {
  return {.scope = uid, .purpose = 1u << 30 | channel, .from = from, .to = to};
}

}  // namespace weir::verbs
