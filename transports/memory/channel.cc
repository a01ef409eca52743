// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <vector>

#include "src/base/doorbell.h"
#include "transports/link_check.h"
#include "transports/memory/memory_owner.h"

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
  MemoryOwner sender;  // written before its first message
};

struct alignas(64) ReleasedCacheLine {
  std::atomic<uint64_t> position;  // position; everything before it may be overwritten
  uint64_t messages;               // total number of messages taken; written when the receiver closes
  std::atomic<uint64_t> asked;     // parts of messages that the receiver could not read itself
};

/// Precedes each payload.
struct alignas(16) RecordHeader {
  std::atomic<uint64_t>
      word;  // kPresent | bytes, perhaps | kRendezvous | part; 0: the message is not complete
  uint64_t tag;
};
static_assert(sizeof(RecordHeader) == 16);
constexpr uint64_t kPresent = uint64_t{1} << 32;
// The bytes are in the sender: the payload is a RendezvousSource, or a part of them.
constexpr uint64_t kRendezvous = uint64_t{1} << 33;
// Bits from here on: number of the part in the payload, from 1; 0: where they are.
constexpr int kPartShift = 34;
constexpr uint32_t kMostRendezvous = 1 << 20;  // read at a time: aborts need not wait for long
constexpr uint32_t kLeastShared = 2048;        // smallest rendezvous in memory that the receiver maps

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

  /// Largest number of bytes taken that the receiver need not report yet, unless they were a rendezvous.
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
  MemorySender(PeerSegment peer, const LinkSpec& spec, const device::MemoryRegistry* registry)
      : peer_(std::move(peer)), spec_(spec), registry_(registry), block_(spec) {}
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
    if (spec_.rendezvous_bytes == 0 || spec_.slot_bytes < kLeastShared) return true;
    block.control().sender = MemoryOwner::self();
    may_stay_ = true;
    unread_.reserve(block.ring().bytes() / std::min(least_kernel_read(), kLeastShared) + 1);
    return true;
  }

  std::byte* acquire() override {
    if (next_.position + block_.ring().most() <= writable_) [[likely]]
      return block_.payload(next_);
    return has_room() || look_for_room() ? block_.payload(next_) : nullptr;
  }

  SendMode send_mode(const Payload& payload, uint32_t bytes) const override {
    if (!payload.stays || !may_stay_ || bytes > kMostRendezvous) return SendMode::copied;
    if (bytes >= kLeastShared && registry_ != nullptr && registry_->find(payload.data, bytes))
      return SendMode::shared_read;
    return bytes >= least_kernel_read() ? SendMode::kernel_read : SendMode::copied;
  }

  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    if (payload.data == nullptr || !is_rendezvous(send_mode(payload, bytes))) {
      fill_slot(payload, bytes);
      announce(tag, kPresent | bytes, bytes);
      return;
    }
    std::memcpy(block_.payload(next_), &source_of(payload.data, bytes), sizeof(RendezvousSource));
    forget_read();
    unread_.push_back({next_, 0, payload.data, bytes});
    announce(tag, kPresent | kRendezvous | bytes, std::min(bytes, spec_.slot_bytes));
    unread_.back().end = next_.position;
  }

  void recall() override {
    if (flushed()) return;
    block_.control().state.fetch_or(kLeft, std::memory_order_acq_rel);
    peer_.view.doorbell->ring();
    unread_.clear();
  }

  Status progress() override {
    if (!unread_.empty()) settle();
    if (!connected_ || (block_.control().state.load(std::memory_order_acquire) & kClosed) == 0) return {};
    const uint64_t lost = sent_ - block_.released().messages;
    if (lost == 0) return {};
    return Status(Code::remote_error, fmt::format("rank {} closed {} with {} messages not received",
                                                  spec_.peer, outgoing_name(spec_), lost));
  }

  bool flushed() const override {  // other messages are in the peer's memory
    return unread_.empty() ||
           block_.released().position.load(std::memory_order_acquire) >= unread_.back().end;
  }

 private:
  /// A message that the receiver reads here.
  struct Unread {
    Cursor at;
    uint64_t end;  // position of the next message
    const std::byte* source;
    uint32_t bytes;
    uint64_t parts = 0;  // parts of slot_bytes that went through the ring
  };

  uint32_t least_kernel_read() const {
    return std::max<uint32_t>(spec_.rendezvous_bytes, sizeof(RendezvousSource));
  }

  /// Where the bytes are; most are in the block of the last ones.
  const RendezvousSource& source_of(const std::byte* data, uint32_t bytes) {
    source_.address = reinterpret_cast<RemoteAddress>(data);
    const auto located = registry_ != nullptr ? registry_->find(data, bytes) : std::nullopt;
    if (!located) {
      source_.block = {};
    } else if (located->block != source_.block) {
      const auto handle = registry_->handle(located->block);
      source_.block = handle ? located->block : device::BlockId{};
      if (handle) source_.handle = *handle;
    }
    if (located) source_.offset = located->offset;
    return source_;
  }

  /// Publishes the record at the next place, with a payload of `payload` bytes.
  void announce(uint64_t tag, uint64_t word, uint32_t payload) {
    RecordHeader& header = block_.header(next_);
    next_ = block_.ring().after(next_, payload);
    block_.header(next_).word.store(0, std::memory_order_relaxed);  // old bytes there may look like a header
    header.tag = tag;
    header.word.store(word, std::memory_order_release);
    ++sent_;
    peer_.view.doorbell->ring();
  }

  void forget_read() {
    const uint64_t released = block_.released().position.load(std::memory_order_acquire);
    std::erase_if(unread_, [&](const Unread& one) { return one.end <= released; });
  }

  /// Puts the next part of the oldest message that was not read into the ring, if the receiver has asked for
  /// it; later messages go through the ring at once.
  void settle() {
    if (block_.released().asked.load(std::memory_order_acquire) == answered_) return;
    ++answered_;
    may_stay_ = false;
    forget_read();
    Unread& oldest = unread_.front();
    const uint64_t from = oldest.parts++ * spec_.slot_bytes;
    std::memcpy(block_.payload(oldest.at), oldest.source + from,
                std::min<uint64_t>(oldest.bytes - from, spec_.slot_bytes));
    block_.header(oldest.at).word.store(kPresent | kRendezvous | oldest.parts << kPartShift | oldest.bytes,
                                        std::memory_order_release);
    peer_.view.doorbell->ring();
  }

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
  const device::MemoryRegistry* const registry_;
  Block block_;
  bool connected_ = false;
  Cursor next_ = Ring::first();  // position of the next message
  uint64_t writable_ = 0;        // position up to which the ring is known to be free
  uint64_t sent_ = 0;
  bool may_stay_ = false;       // messages may go by rendezvous
  RendezvousSource source_;     // that of the last one
  std::vector<Unread> unread_;  // messages that the receiver may not have read yet, the oldest first
  uint64_t answered_ = 0;       // parts of them that went through the ring
};

class MemoryReceiver final : public Receiver {
 public:
  MemoryReceiver(Segment& segment, PeerSegment peer, const LinkSpec& spec, const ChannelPlace& place,
                 AttachedBlocks& attached)
      : segment_(segment),
        peer_(std::move(peer)),
        spec_(spec),
        place_(place),
        block_(place.block, spec),
        attached_(attached) {
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
    const bool rendezvous = (word & kRendezvous) != 0;
    if (bytes > (rendezvous ? kMostRendezvous : spec_.slot_bytes)) [[unlikely]] {
      garbled_ = true;
      return nullptr;
    }
    if (rendezvous && word >> kPartShift != part_) {  // the sender has been asked
      wanting_ = true;
      return nullptr;
    }
    message_ = {header.tag, bytes, rendezvous ? nullptr : block_.payload(next_)};
    held_ = true;
    wanting_ = false;
    return &message_;
  }

  bool fetch(std::byte* to) override {
    std::byte* const payload = block_.payload(next_);
    bool whole = false;
    if (part_ == 0) {
      RendezvousSource source;
      std::memcpy(&source, payload, sizeof source);
      whole = read(source, to != nullptr ? to : payload);
    } else {
      const uint64_t before = (part_ - 1) * spec_.slot_bytes;
      const auto bytes = std::min<uint64_t>(message_.bytes - before, spec_.slot_bytes);
      if (to != nullptr) std::memcpy(to + before, payload, bytes);
      whole = before + bytes == message_.bytes;
    }
    // What the sender may have changed meanwhile is worth nothing.
    const bool left = (block_.control().state.load(std::memory_order_acquire) & kLeft) != 0;
    if (whole && !left) {
      if (to == nullptr) message_.data = payload;
      return true;
    }
    held_ = false;
    wanting_ = true;
    ++part_;
    block_.released().asked.fetch_add(1, std::memory_order_release);
    peer_.view.doorbell->ring();
    return false;
  }

  void release() override {
    held_ = false;
    ++taken_;
    part_ = 0;
    const bool rendezvous = (block_.header(next_).word.load(std::memory_order_relaxed) & kRendezvous) != 0;
    next_ = block_.ring().after(next_, std::min(message_.bytes, spec_.slot_bytes));
    if (next_.position - told_ < Ring::kOwed && !rendezvous) return;
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
    // Messages that were sent before the sender left are visible by now; what it had in its memory went with
    // it.
    const uint64_t word = block_.header(next_).word.load(std::memory_order_acquire);
    if (word != 0 && (word & kRendezvous) == 0) return {};
    return Status(Code::remote_error,
                  fmt::format("rank {} closed {} after {} messages, while this rank waits for another one",
                              spec_.peer, incoming_name(spec_), taken_));
  }

 private:
  bool read(const RendezvousSource& source, std::byte* to) {
    const std::byte* const from = attached_.find(spec_.peer, source, message_.bytes);
    if (from == nullptr) return read_memory(block_.control().sender, source.address, to, message_.bytes);
    std::memcpy(to, from, message_.bytes);
    return true;
  }

  Segment& segment_;
  PeerSegment peer_;
  const LinkSpec spec_;
  const ChannelPlace place_;
  const Block block_;
  AttachedBlocks& attached_;
  Message message_;
  bool held_ = false;     // message_ is the oldest message
  bool wanting_ = false;  // the last poll found no message
  bool garbled_ = false;
  uint64_t part_ = 0;            // number of the part of the oldest message that the sender was asked for
  Cursor next_ = Ring::first();  // position of the next message
  uint64_t told_ = 0;            // position up to which the sender was told that all was taken
  uint64_t taken_ = 0;
};

}  // namespace

Result<std::unique_ptr<Sender>> open_memory_sender(PeerSegment peer, const LinkSpec& spec,
                                                   const device::MemoryRegistry* registry) {
  WEIR_TRY(check_spec(spec));
  return std::unique_ptr<Sender>(std::make_unique<MemorySender>(std::move(peer), spec, registry));
}

Result<std::unique_ptr<Receiver>> open_memory_receiver(Segment& segment, PeerSegment peer,
                                                       const LinkSpec& spec, AttachedBlocks& attached) {
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
  return std::unique_ptr<Receiver>(
      std::make_unique<MemoryReceiver>(segment, std::move(peer), spec, *place, attached));
}

}  // namespace weir
