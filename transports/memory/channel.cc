// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/channel.h"

#include <fmt/format.h>

#include <new>

#include "src/base/doorbell.h"
#include "transports/link_check.h"

namespace weir {
namespace {

// Flags in the low bits of the state; the generation is above.
constexpr uint64_t kTaken = 1;   // by a sender
constexpr uint64_t kLeft = 2;    // by that sender
constexpr uint64_t kClosed = 4;  // by the receiver

constexpr uint64_t state_of(uint32_t generation, uint64_t flags) {
  return static_cast<uint64_t>(generation) << 32 | flags;
}

struct alignas(64) ControlCacheLine {
  std::atomic<uint64_t> state;  // first word of the block: see RingPool::give_back_later
  uint32_t slots;
  uint32_t slot_bytes;
};

struct alignas(64) ReleasedCacheLine {
  std::atomic<uint64_t> position;  // everything before it may be written again
  uint64_t messages;               // taken in all; written when the receiver closes
};

/// Before each payload.
struct alignas(16) RecordHeader {
  std::atomic<uint64_t> word;  // kPresent | bytes; 0: not there yet
  uint64_t tag;
};
static_assert(sizeof(RecordHeader) == 16);
constexpr uint64_t kPresent = uint64_t{1} << 32;

/// A place for a record: the bytes of the ring counted from the first lap on, and where that is in this lap.
struct Cursor {
  uint64_t position;
  size_t offset;
};

/// Where records lie. Both ends compute it alike.
class Ring {
 public:
  explicit Ring(const LinkSpec& spec)
      : longest_(2 * sizeof(RecordHeader) + size_t{spec.slot_bytes}),
        bytes_((spec.slots + 1) * lines(longest_ + kLine) + kOwed) {}

  size_t bytes() const { return bytes_; }
  /// No record reaches so far from its position, with what is lost at the end of a lap and the next header.
  size_t most() const { return 2 * longest_ + 2 * kLine; }
  static constexpr Cursor first() { return {kFirst, kFirst}; }
  /// Close behind a short record; behind another one such that the next payload begins a line. A record that
  /// might not fit into the rest of the lap begins the next lap.
  Cursor after(const Cursor& cursor, uint32_t payload) const {
    size_t next = cursor.offset + sizeof(RecordHeader) + payload;
    next =
        payload < kShort ? (next + 15) / 16 * 16 : lines(next + sizeof(RecordHeader)) - sizeof(RecordHeader);
    const uint64_t position = cursor.position + (next - cursor.offset);
    if (bytes_ - next >= longest_) [[likely]]
      return {position, next};
    return {position + (bytes_ - next) + kFirst, kFirst};
  }

  /// The receiver may keep the news of so many bytes taken to itself.
  static constexpr size_t kOwed = 4096;

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kFirst = kLine - sizeof(RecordHeader);
  static constexpr uint32_t kShort = 256;
  static constexpr size_t lines(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

  size_t longest_;  // record and header of the next one
  size_t bytes_;    // `slots` longest records fit, whatever is lost at the end of a lap and owed
};

/// A block as both ends see it.
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
    // An earlier life of the channel, or one that another sender had, is passed over.
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
    block_.header(next_).word.store(0, std::memory_order_relaxed);  // what lay there may look like a header
    header.tag = tag;
    header.word.store(kPresent | bytes, std::memory_order_release);
    ++sent_;
    peer_.view.doorbell->ring();
  }

  Status progress() override {
    if (!connected_ || (block_.control().state.load(std::memory_order_acquire) & kClosed) == 0) return {};
    const uint64_t lost = sent_ - block_.released().messages;
    if (lost == 0) return {};
    return Status(Code::remote_error, fmt::format("rank {} closed {} with {} messages not taken", spec_.peer,
                                                  outgoing_name(spec_), lost));
  }

  bool flushed() const override { return true; }  // what is published lies in the peer's memory

 private:
  bool look_for_room() {
    if (!connected_) return false;
    const uint64_t released = block_.released().position.load(std::memory_order_acquire);
    writable_ = released + block_.ring().bytes();
    return has_room();
  }
  /// Whether the longest message, with the header of the one after it, may be written.
  bool has_room() const {
    return block_.ring().after(next_, spec_.slot_bytes).position + sizeof(RecordHeader) <= writable_;
  }

  PeerSegment peer_;
  const LinkSpec spec_;
  Block block_;
  bool connected_ = false;
  Cursor next_ = Ring::first();  // place of the next message
  uint64_t writable_ = 0;        // position up to which all is known to be free
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
      return Status(Code::remote_error,
                    fmt::format("{} brought a message longer than its slots", incoming_name(spec_)));
    }
    if (!wanting_ || (block_.control().state.load(std::memory_order_acquire) & kLeft) == 0) return {};
    // What was sent before the sender left is visible by now.
    if (block_.header(next_).word.load(std::memory_order_acquire) != 0) return {};
    return Status(Code::remote_error,
                  fmt::format("rank {} closed {} after {} messages and another one is waited for", spec_.peer,
                              incoming_name(spec_), taken_));
  }

 private:
  Segment& segment_;
  PeerSegment peer_;
  const LinkSpec spec_;
  const ChannelPlace place_;
  const Block block_;
  Message message_;
  bool held_ = false;     // message_ is the oldest message
  bool wanting_ = false;  // the last look found nothing
  bool garbled_ = false;
  Cursor next_ = Ring::first();  // place of the next message
  uint64_t told_ = 0;            // position up to which the sender knows that all was taken
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
  // Peers look at the state before anything else, so the order of announcing and making does not matter to
  // them; announcing first leaves nothing to undo when the directory refuses.
  if (Status announced = segment.ring_pool().announce({spec.peer, spec.channel}, *place); !announced.ok()) {
    segment.ring_pool().give_back(*place, bytes);
    return announced;
  }
  return std::unique_ptr<Receiver>(std::make_unique<MemoryReceiver>(segment, std::move(peer), spec, *place));
}

}  // namespace weir
