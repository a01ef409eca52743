// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/channel.h"

#include <fmt/format.h>

#include <new>

#include "src/base/doorbell.h"
#include "transports/link_check.h"

namespace weir {
namespace {

// Flags in the low bits of `state`; the generation is in the bits above.
constexpr uint64_t kTaken = 1;   // set when a sender takes the channel
constexpr uint64_t kLeft = 2;    // set when that sender leaves
constexpr uint64_t kClosed = 4;  // set when the receiver closes the channel

constexpr uint64_t state_of(uint32_t generation, uint64_t flags) {
  return static_cast<uint64_t>(generation) << 32 | flags;
}

struct alignas(64) ControlCacheLine {
  std::atomic<uint64_t> state;  // first word of the block: see RingPool::give_back_later
  uint32_t slots;
  uint32_t slot_bytes;
};

struct alignas(64) ReleasedCacheLine {
  std::atomic<uint64_t> position;  // position; everything before it may be overwritten
  uint64_t messages;               // total number of messages taken; written when the receiver closes
};

/// Precedes each payload.
struct alignas(16) RecordHeader {
  std::atomic<uint64_t> word;  // kPresent | bytes; 0: the message is not complete
  uint64_t tag;
};
static_assert(sizeof(RecordHeader) == 16);
constexpr uint64_t kPresent = uint64_t{1} << 32;

/// Where a record starts: its byte position counted over all laps of the ring, and its offset in this lap.
struct Cursor {
  uint64_t position;
  size_t offset;
};

/// Positions of records. Both ends compute the same positions.
class Ring {
 public:
  explicit Ring(const LinkSpec& spec)
      : longest_(2 * sizeof(RecordHeader) + size_t{spec.slot_bytes}),
        bytes_((spec.slots + 1) * lines(longest_ + kLine) + kOwed) {}

  size_t bytes() const { return bytes_; }
  /// Upper limit of a record's extent, including the bytes lost at the end of a lap and the next header.
  size_t most() const { return 2 * longest_ + 2 * kLine; }
  static constexpr Cursor first() { return {kFirst, kFirst}; }
  /// The next record follows a short record immediately; after a longer one it is placed such that its
  /// payload starts a cache line. A record that might not fit into the rest of the lap starts the next lap.
  Cursor after(const Cursor& cursor, uint32_t payload) const {
    size_t next = cursor.offset + sizeof(RecordHeader) + payload;
    next =
        payload < kShort ? (next + 15) / 16 * 16 : lines(next + sizeof(RecordHeader)) - sizeof(RecordHeader);
    const uint64_t position = cursor.position + (next - cursor.offset);
    if (bytes_ - next >= longest_) [[likely]]
      return {position, next};
    return {position + (bytes_ - next) + kFirst, kFirst};
  }

  /// Largest number of bytes taken that the receiver need not report yet.
  static constexpr size_t kOwed = 4096;

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kFirst = kLine - sizeof(RecordHeader);
  static constexpr uint32_t kShort = 256;
  static constexpr size_t lines(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

  size_t longest_;  // longest record plus the header of the next one
  size_t bytes_;    // capacity for `slots` longest records, plus bytes lost at the end of a lap and bytes not
                    // reported
};

/// A block of the ring pool; valid in both address spaces.
class Block {
 public:
  explicit Block(const LinkSpec& spec) : ring_(spec) {}
  Block(std::byte* begin, const LinkSpec& spec) : begin_(begin), ring_(spec) {}

  size_t bytes() const { return kRing + ring_.bytes(); }
  const Ring& ring() const { return ring_; }
  ControlCacheLine& control() const { return *reinterpret_cast<ControlCacheLine*>(begin_); }
  ReleasedCacheLine& released() const {
    return *reinterpret_cast<ReleasedCacheLine*>(begin_ + sizeof(ControlCacheLine));
  }
  RecordHeader& header(const Cursor& at) const {
    return *reinterpret_cast<RecordHeader*>(begin_ + kRing + at.offset);
  }
  std::byte* payload(const Cursor& at) const { return begin_ + kRing + at.offset + sizeof(RecordHeader); }

 private:
  static constexpr size_t kRing = sizeof(ControlCacheLine) + sizeof(ReleasedCacheLine);

  std::byte* begin_ = nullptr;
  Ring ring_;
};

class MemorySender final : public Sender {
 public:
  MemorySender(PeerSegment peer, const LinkSpec& spec) : peer_(std::move(peer)), spec_(spec), block_(spec) {}
  ~MemorySender() override {
    if (!connected_) return;
    block_.control().state.fetch_or(kLeft, std::memory_order_release);
    peer_.view.doorbell->ring();
  }
  MemorySender(const MemorySender&) = delete;
  MemorySender& operator=(const MemorySender&) = delete;

  Result<bool> ready() override {
    if (connected_) return true;
    const std::optional<ChannelPlace> place = peer_.ring_pool.find({spec_.self, spec_.channel});
    if (!place.has_value() || place->bytes < sizeof(ControlCacheLine)) return false;
    const Block block(place->block, spec_);
    uint64_t expected = state_of(place->generation, 0);
    // Skip a block of an earlier life of the channel, or one that another sender took.
    if (!block.control().state.compare_exchange_strong(expected, expected | kTaken,
                                                       std::memory_order_acq_rel)) {
      return false;
    }
    block_ = block;
    connected_ = true;
    const ControlCacheLine& control = block.control();
    if (control.slots != spec_.slots || control.slot_bytes != spec_.slot_bytes ||
        block.bytes() > place->bytes) {
      return different_shapes(outgoing_name(spec_), spec_, control.slots, control.slot_bytes);
    }
    writable_ = block.ring().bytes();
    return true;
  }

  std::byte* acquire() override {
    if (next_.position + block_.ring().most() <= writable_) [[likely]]
      return block_.payload(next_);
    return has_room() || look_for_room() ? block_.payload(next_) : nullptr;
  }

  void publish(uint64_t tag, uint32_t bytes) override {
    RecordHeader& header = block_.header(next_);
    next_ = block_.ring().after(next_, bytes);
    block_.header(next_).word.store(0, std::memory_order_relaxed);  // old bytes there may look like a header
    header.tag = tag;
    header.word.store(kPresent | bytes, std::memory_order_release);
    ++sent_;
    peer_.view.doorbell->ring();
  }

  Status progress() override {
    if (!connected_ || (block_.control().state.load(std::memory_order_acquire) & kClosed) == 0) return {};
    const uint64_t lost = sent_ - block_.released().messages;
    if (lost == 0) return {};
    return Status(Code::remote_error, fmt::format("rank {} closed {} with {} messages not received",
                                                  spec_.peer, outgoing_name(spec_), lost));
  }

  bool flushed() const override { return true; }  // published messages are in the peer's memory

 private:
  bool look_for_room() {
    if (!connected_) return false;
    const uint64_t released = block_.released().position.load(std::memory_order_acquire);
    writable_ = released + block_.ring().bytes();
    return has_room();
  }
  /// Whether the longest message and the header of the one after it fit.
  bool has_room() const {
    return block_.ring().after(next_, spec_.slot_bytes).position + sizeof(RecordHeader) <= writable_;
  }

  PeerSegment peer_;
  const LinkSpec spec_;
  Block block_;
  bool connected_ = false;
  Cursor next_ = Ring::first();  // position of the next message
  uint64_t writable_ = 0;        // position up to which the ring is known to be free
  uint64_t sent_ = 0;
};

class MemoryReceiver final : public Receiver {
 public:
  MemoryReceiver(Segment& segment, PeerSegment peer, const LinkSpec& spec, const ChannelPlace& place)
      : segment_(segment), peer_(std::move(peer)), spec_(spec), place_(place), block_(place.block, spec) {
    new (&block_.released()) ReleasedCacheLine{};
    new (&block_.header(next_)) RecordHeader{};
    ControlCacheLine& control = block_.control();
    control.slots = spec.slots;
    control.slot_bytes = spec.slot_bytes;
    control.state.store(state_of(place.generation, 0), std::memory_order_release);
    peer_.view.doorbell->ring();
  }
  ~MemoryReceiver() override {
    segment_.ring_pool().withdraw({spec_.peer, spec_.channel});
    block_.released().messages = taken_;
    const uint64_t before = block_.control().state.fetch_or(kClosed, std::memory_order_acq_rel);
    const bool in_use = (before & kTaken) != 0;
    segment_.ring_pool().give_back_later(place_, block_.bytes(), in_use ? kLeft : 0);
    if (in_use) peer_.view.doorbell->ring();
  }
  MemoryReceiver(const MemoryReceiver&) = delete;
  MemoryReceiver& operator=(const MemoryReceiver&) = delete;

  Result<bool> ready() override { return true; }

  const Message* peek() override {
    if (held_) return &message_;
    const RecordHeader& header = block_.header(next_);
    const uint64_t word = header.word.load(std::memory_order_acquire);
    if (word == 0) {
      wanting_ = true;
      return nullptr;
    }
    const auto bytes = static_cast<uint32_t>(word);
    if (bytes > spec_.slot_bytes) [[unlikely]] {
      garbled_ = true;
      return nullptr;
    }
    message_ = {header.tag, bytes, block_.payload(next_)};
    held_ = true;
    wanting_ = false;
    return &message_;
  }

  void release() override {
    held_ = false;
    ++taken_;
    next_ = block_.ring().after(next_, message_.bytes);
    if (next_.position - told_ < Ring::kOwed) return;
    told_ = next_.position;
    block_.released().position.store(told_, std::memory_order_release);
    peer_.view.doorbell->ring();
  }

  Status progress() override {
    if (garbled_) {
      return Status(Code::remote_error, fmt::format("{} delivered a message that is longer than its slots",
                                                    incoming_name(spec_)));
    }
    if (!wanting_ || (block_.control().state.load(std::memory_order_acquire) & kLeft) == 0) return {};
    // Messages that were sent before the sender left are visible by now.
    if (block_.header(next_).word.load(std::memory_order_acquire) != 0) return {};
    return Status(Code::remote_error,
                  fmt::format("rank {} closed {} after {} messages, while this rank waits for another one",
                              spec_.peer, incoming_name(spec_), taken_));
  }

 private:
  Segment& segment_;
  PeerSegment peer_;
  const LinkSpec spec_;
  const ChannelPlace place_;
  const Block block_;
  Message message_;
  bool held_ = false;     // message_ is the oldest message
  bool wanting_ = false;  // the last poll found no message
  bool garbled_ = false;
  Cursor next_ = Ring::first();  // position of the next message
  uint64_t told_ = 0;            // position up to which the sender was told that all was taken
  uint64_t taken_ = 0;
};

}  // namespace

Result<std::unique_ptr<Sender>> open_memory_sender(PeerSegment peer, const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  return std::unique_ptr<Sender>(std::make_unique<MemorySender>(std::move(peer), spec));
}

Result<std::unique_ptr<Receiver>> open_memory_receiver(Segment& segment, PeerSegment peer,
                                                       const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  const size_t bytes = Block(spec).bytes();
  Result<ChannelPlace> place = segment.ring_pool().take(bytes);
  if (!place.ok()) return place.status();
  // Peers check the state before anything else, so the order of creating and announcing does not matter to
  // them; announcing first leaves nothing to undo when the directory is full.
  if (Status announced = segment.ring_pool().announce({spec.peer, spec.channel}, *place); !announced.ok()) {
    segment.ring_pool().give_back(*place, bytes);
    return announced;
  }
  return std::unique_ptr<Receiver>(std::make_unique<MemoryReceiver>(segment, std::move(peer), spec, *place));
}

}  // namespace weir
