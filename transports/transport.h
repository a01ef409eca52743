// SPDX-License-Identifier: Apache-2.0
/// A way to move bytes between two ranks, and the channel ends it makes.
///
/// Life of a channel:
///  1. Every rank publishes address() through the bootstrap.
///  2. reach(transport address of the peer) says whether and how well the peer can be reached, on both sides
///  alike.
///  3. Sender side calls open_sender, receiver side open_receiver, with the same LinkSpec::channel. Neither
///     waits for the other, so any order of opens works.
///  4. Both sides poll ready() of all their ends in turn (one may need another to go on) until each was true;
///     then slots flow: acquire, fill, publish | peek, read, release. A rank that waits for one end serves
///     (progress()) all that have something to do: a message may need credit, which comes when the peer
///     serves the other end.
///  5. Destroying an end closes it. The other end fails (progress() says so) once it wants what it cannot
///     get: a receiver that has looked in vain, a sender with messages not taken. Wanting nothing, it is not
///     disturbed by a peer that is done, even one whose process has ended. Some transports cannot notice a
///     peer that was killed; the communicator's watchdog names it.
///  6. A channel that worked may be opened again after both ends were destroyed, in any order at both sides:
///     an end of the new life never meets one of the old. Ends are destroyed before their transport.
///
/// A channel is a bounded FIFO of `slots` messages of at most `slot_bytes`; a transport may buffer more,
/// never less. Messages arrive in order, once, unharmed, or progress() fails.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/types.h"
#include "transports/memory/segment_view.h"
#include "transports/net_counters.h"
#include "transports/slot_memory.h"
#include "weir/status.h"

namespace weir {

/// What a peer can expect of a connection. Stated by the transport, measured or known; never guessed by
/// callers.
struct Cost {
  double latency_us = 0;
  double gigabytes_per_s = 0;
  bool shared = false;  ///< the bandwidth is shared by all channels of the rank
  double merging = 0;   ///< so much longer bytes take where several ranks send to one,
  double unasked = 0;   ///< but for so many at the begin of a message
};

/// The answer to "can we talk": yes with a cost, or no with a sentence that a person can act on.
struct Reach {
  bool ok = false;
  Cost cost;
  std::string why_not;
};

/// Names of the network ports (or their devices) that are nearest to the rank's GPU; none where all are as
/// near or nobody knows. Asked only where there is a choice: the answer may take looking at the host.
using NearestPorts = std::function<std::vector<std::string>()>;

/// What a transport can do beyond channels.
struct Traits {
  bool maps = false;    ///< map() works: a peer's segment can be addressed with loads and stores
  bool sleeps = false;  ///< a message rings the receiver's doorbell, so that the receiver may sleep on it
};

struct LinkSpec {
  Rank self = 0;
  Rank peer = 0;
  uint32_t channel = 0;  ///< same number at both ends; one channel per (source, destination, number)
  uint32_t slots = 4;
  uint32_t slot_bytes = 64 * 1024;
  /// Not null: in memory that the transport was lent, where this end has its slots, slot_bytes apart. The
  /// host does not touch them: acquire() and Message::data name them, message n being in slot n % slots.
  /// REQUIRES: slot_bytes is a multiple of 64. The other end need not know.
  std::byte* lent = nullptr;
};

/// One arrived message. The bytes stay valid and unchanged until release().
struct Message {
  uint64_t tag = 0;  ///< as given to publish(): which operation it belongs to
  uint32_t bytes = 0;
  const std::byte* data = nullptr;
};

/// The sending end of a channel. Used by one thread at a time.
class Sender {
 public:
  virtual ~Sender() = default;
  /// True once the channel works. Never blocks.
  virtual Result<bool> ready() = 0;
  /// The next free slot (16-byte aligned, slot_bytes long), or null while all are in flight. Repeating the
  /// call without publish() gives the same slot.
  virtual std::byte* acquire() = 0;
  /// Sends the acquired slot. REQUIRES: acquire() gave a slot; bytes <= slot_bytes.
  virtual void publish(uint64_t tag, uint32_t bytes) = 0;
  /// The same with a copy of `source`, which is the caller's again when this returns, as the slot's bytes.
  virtual void publish_from(uint64_t tag, const std::byte* source, uint32_t bytes) {
    if (bytes > 0) std::memcpy(acquire(), source, bytes);
    publish(tag, bytes);
  }
  /// Whether publish_from() does without the copy where it can.
  virtual bool spares_copies() const { return false; }
  /// Moves what is in flight; tells of a broken channel. Called while a rank waits.
  virtual Status progress() = 0;
  /// True when nothing published still depends on this process acting (all is with the peer or the kernel).
  virtual bool flushed() const = 0;
  /// Not more than so many bytes of payload per second from now on, in the long run; 0: any. False: this
  /// transport does not see to that, and sends as before (transports/paced.h does it for all).
  virtual bool pace(double /*bytes_per_s*/) { return false; }
};

/// The receiving end of a channel. Used by one thread at a time.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual Result<bool> ready() = 0;
  /// The oldest message not released, or null while there is none.
  virtual const Message* peek() = 0;
  /// Gives the slot of the oldest message back. REQUIRES: peek() gave a message.
  virtual void release() = 0;
  virtual Status progress() = 0;
};

/// One object per communicator rank and kind. Not thread-safe, but for counters().
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual Traits traits() const = 0;
  /// What a peer must know to reach this rank. Versioned; read only by the same transport's reach and open.
  virtual Bytes address() const = 0;
  /// Whether the owner of `peer_address` can be reached: tried, not assumed, where a harmless try exists.
  virtual Reach reach(BytesView peer_address) const = 0;
  virtual Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) = 0;
  virtual Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) = 0;
  /// From now on ends may have their slots in this memory, until it is taken back. An error says why not;
  /// then nothing is different.
  virtual Status lend(SlotMemory&) {
    return {Code::invalid_usage, fmt::format("{} has its slots in memory of the host", name())};
  }
  /// REQUIRES: no end has its slots there.
  virtual void take_back(SlotMemory&) {}
  /// The segment of the peer in this address space; an error where traits().maps is false. Valid
  /// until the transport is destroyed.
  virtual Result<SegmentView> map(BytesView peer_address) = 0;
  /// What it has carried so far, where it is over a network. Any thread, at any time of its life; a few
  /// system calls at most.
  virtual NetCounters counters() const { return {}; }
};

}  // namespace weir
