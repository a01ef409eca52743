// SPDX-License-Identifier: Apache-2.0
/// A transport moves bytes between two ranks; it creates the ends of channels.
///
/// Life of a channel:
///  1. Every rank publishes address() through the bootstrap.
///  2. reach(transport address of the peer) returns whether and how well the peer can be reached; both sides
///     get the same answer.
///  3. The sender calls open_sender, the receiver open_receiver, with the same LinkSpec::channel. Neither
///     waits for the other, so ends may be opened in any order.
///  4. Both sides poll ready() of all their ends in turn (one may need another to continue) until each has
///     returned true; then slots are used: acquire, fill, publish | peek, read, release. A rank that waits
/// for
///     one end calls progress() of all ends with work in flight, because a message may need credit, which
///     arrives only while the peer serves its other end.
///  5. Destroying an end closes it. The other end fails (progress() returns an error) once it needs what
///     cannot come: a receiver after a poll without a message, a sender with messages that were not taken. An
///     end that needs nothing does not fail when its peer closes or its process ends. Some transports cannot
///     detect a peer that was killed; the communicator's watchdog names it.
///  6. A channel that worked may be opened again after both ends were destroyed, in any order at both sides:
///     an end of the new life never connects to one of the old. Ends are destroyed before their transport.
///
/// A channel is a bounded FIFO of `slots` messages of at most `slot_bytes`; a transport may buffer more
/// messages, never fewer. Messages arrive in order, once and unchanged, or progress() fails.
/// Tests: tests/transports/conformance.cc, tests/transports/faulty_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/status.h"
#include "src/base/types.h"
#include "transports/net_counters.h"

namespace weir {

class ConnectionSet;
class SegmentMapper;
class SlotRegistrar;
class SocketEvents;

/// Performance that a connection to a peer can expect: stated by the transport, measured or known; callers
/// never guess it.
struct Cost {
  double latency_us = 0;
  double gigabytes_per_s = 0;
  bool shared = false;  ///< the bandwidth is shared by all channels of the rank
  double merging = 0;   ///< slowdown if several ranks send to one rank: bytes take 1 + merging times as long
  double unasked = 0;   ///< bytes at the begin of each message to which merging does not apply
  uint32_t paths = 0;   ///< paths over network interfaces that work now; 0: it has none, or they are unknown
};

/// Whether a peer can be reached: yes with a cost, or no with a sentence that tells users what to change.
struct Reach {
  bool ok = false;
  Cost cost;
  std::string why_not;
};

/// Names of the network ports (or their devices) that are nearest to the rank's GPU; empty if all are equally
/// near or their distance is unknown. Called only if there are several ports, because it may have to inspect
/// the host.
using NearestPorts = std::function<std::vector<std::string>()>;

/// Abilities of a transport beyond channels.
struct Traits {
  bool maps = false;    ///< peers' segments can be accessed with loads and stores: it has a segment_mapper()
  bool sleeps = false;  ///< a message rings the receiver's doorbell, so the receiver may sleep on it
  /// Whatever an end waits for is an event of these sockets, or of its own process; null: ends must be
  /// polled.
  const SocketEvents* events = nullptr;
  /// TCP connections over which its ends send; null: it has none. Any thread may read them at any time of
  /// the transport's life.
  const ConnectionSet* connections = nullptr;
};

struct LinkSpec {
  Rank self = 0;
  Rank peer = 0;
  uint32_t channel = 0;  ///< equal at both ends; one channel per (source, destination, number)
  uint32_t slots = 4;
  uint32_t slot_bytes = 64 * 1024;
  /// Slots of this end in memory that was registered with SlotRegistrar, slot_bytes apart; null: the
  /// transport allocates slots. The host does not access them: acquire() and Message::data return their
  /// addresses; message n is in slot n % slots. REQUIRES: slot_bytes is a multiple of 64. The other end may
  /// have ordinary slots.
  std::byte* slot_memory = nullptr;
  /// At the sender: smallest message that the receiver reads through the kernel; in memory that both map it
  /// reads smaller ones, too. 0: neither; UINT32_MAX: only in such memory.
  uint32_t rendezvous_bytes = 0;
};

/// One arrived message. Its bytes stay valid and unchanged until release().
struct Message {
  uint64_t tag = 0;  ///< value from publish(); identifies the operation
  uint32_t bytes = 0;
  const std::byte* data = nullptr;  ///< null: a rendezvous; Receiver::fetch() copies the bytes
};

/// The bytes of a message that is sent.
struct Payload {
  const std::byte* data = nullptr;  ///< null: they are in the acquired slot
  /// They stay unchanged until flushed(), so that the receiver may read them there (UCX: rendezvous with
  /// get). Only for receivers that call fetch().
  bool stays = false;
};

/// What publish() does with a payload that has data.
enum class SendMode : uint8_t {
  copied,       ///< into the acquired slot
  handed_on,    ///< at once, without a slot
  kernel_read,  ///< a rendezvous: the receiver copies the bytes through the kernel
  shared_read,  ///< a rendezvous: the receiver reads the bytes in memory that both processes map
};

constexpr bool is_rendezvous(SendMode mode) { return mode >= SendMode::kernel_read; }

/// The sending end of a channel. Used by one thread at a time.
class Sender {
 public:
  virtual ~Sender() = default;
  /// True once the channel works. Never blocks.
  virtual Result<bool> ready() = 0;
  /// The next free slot (16-byte aligned, slot_bytes long), or null while all slots are in flight. Without
  /// publish(), repeated calls return the same slot.
  virtual std::byte* acquire() = 0;
  /// Sends the acquired slot, or a message of other bytes in its place. `payload` may be reused after the
  /// return unless it stays. REQUIRES: acquire() returned a slot; bytes <= slot_bytes, or the mode is a
  /// rendezvous.
  virtual void publish(uint64_t tag, uint32_t bytes, const Payload& payload) = 0;
  void publish(uint64_t tag, uint32_t bytes) { publish(tag, bytes, {}); }
  /// How publish() would send such a payload. Only a rendezvous may exceed slot_bytes.
  virtual SendMode send_mode(const Payload& /*payload*/, uint32_t /*bytes*/) const {
    return SendMode::copied;
  }
  /// Takes back what stays: the caller may reuse its memory at once. The receiver of such a message that it
  /// has not read yet fails. The channel cannot be used any more.
  virtual void recall() {}
  /// Advances data in flight; returns the error of a broken channel. Called while a rank waits.
  virtual Status progress() = 0;
  /// True if no published message depends on this process any more: the peer or the kernel has all of them.
  virtual bool flushed() const = 0;
  /// Limits the average rate to this many payload bytes per second from now on; 0: unlimited. Returns false
  /// if this transport does not limit rates and sends as before (transports/paced.h limits any transport).
  virtual bool pace(double /*bytes_per_s*/) { return false; }

 protected:
  /// Copies a payload that has data into the acquired slot.
  void fill_slot(const Payload& payload, uint32_t bytes) {
    if (payload.data != nullptr && bytes > 0) std::memcpy(acquire(), payload.data, bytes);
  }
};

/// The receiving end of a channel. Used by one thread at a time.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual Result<bool> ready() = 0;
  /// The oldest unreleased message, or null if there is none.
  virtual const Message* peek() = 0;
  /// Copies the bytes of the oldest message, a rendezvous, to `to`, or makes them the message's data if `to`
  /// is null. False if they cannot be read: peek() returns null until the sender has sent them, or a part of
  /// them, through the slot; then fetch() must be called again with the same `to`. REQUIRES: peek() returned
  /// a message without data; it has at most slot_bytes if `to` is null.
  virtual bool fetch(std::byte* /*to*/) { return false; }
  /// Frees the slot of the oldest message. REQUIRES: peek() returned a message.
  virtual void release() = 0;
  virtual Status progress() = 0;
};

/// One object per communicator rank and kind. Not thread-safe, except for counters().
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual Traits traits() const = 0;
  /// The bytes that a peer needs to reach this rank. Versioned; only the same transport's reach and open
  /// functions read them.
  virtual Bytes address() const = 0;
  /// Whether the owner of `peer_address` can be reached; tested, not assumed, if a harmless test exists.
  virtual Reach reach(BytesView peer_address) const = 0;
  virtual Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) = 0;
  virtual Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) = 0;
  /// For slots in registered memory; null: slots are in host memory only.
  virtual SlotRegistrar* slot_registrar() { return nullptr; }
  /// Brings segments of peers into this address space; null unless traits().maps.
  virtual SegmentMapper* segment_mapper() { return nullptr; }
  /// What the transport has carried so far, if it uses a network. Any thread may call it at any time of the
  /// transport's life; costs at most a few system calls.
  virtual NetCounters counters() const { return {}; }
};

}  // namespace weir
