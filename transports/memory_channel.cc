#include "transports/memory_channel.h"

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

struct alignas(64) ControlLine {
  std::atomic<uint64_t> state;  // first word of the block: see Inbox::give_back_later
  uint32_t slots;
  uint32_t slot_bytes;
};

struct alignas(64) ReleasedLine {
  std::atomic<uint64_t> released;
};

/// The line before each payload.
struct alignas(64) SlotHeader {
  std::atomic<uint64_t> sequence;
  uint64_t tag;
  uint32_t bytes;
};

/// A block as both ends see it.
class Block {
 public:
  Block() = default;
  Block(std::byte* begin, const LinkSpec& spec) : begin_(begin), stride_(stride_of(spec)) {}

  static size_t bytes(const LinkSpec& spec) { return kSlots + spec.slots * stride_of(spec); }
  ControlLine& control() const { return *reinterpret_cast<ControlLine*>(begin_); }
  ReleasedLine& released() const { return *reinterpret_cast<ReleasedLine*>(begin_ + sizeof(ControlLine)); }
  SlotHeader& header(uint32_t slot) const {
    return *reinterpret_cast<SlotHeader*>(begin_ + kSlots + slot * stride_);
  }
  std::byte* payload(uint32_t slot) const { return begin_ + kSlots + slot * stride_ + sizeof(SlotHeader); }

 private:
  static constexpr size_t kSlots = sizeof(ControlLine) + sizeof(ReleasedLine);
  // Pairs of lines: the prefetcher that fetches the other half of a pair then brings payload with the header.
  static size_t stride_of(const LinkSpec& spec) {
    return (sizeof(SlotHeader) + size_t{spec.slot_bytes} + 127) / 128 * 128;
  }

  std::byte* begin_ = nullptr;
  size_t stride_ = 0;
};

class MemorySender final : public Sender {
 public:
  MemorySender(PeerHome peer, const LinkSpec& spec) : peer_(std::move(peer)), spec_(spec) {}
  ~MemorySender() override {
    if (!connected_) return;
    block_.control().state.fetch_or(kLeft, std::memory_order_release);
    peer_.view.doorbell->ring();
  }
  MemorySender(const MemorySender&) = delete;
  MemorySender& operator=(const MemorySender&) = delete;

  Result<bool> ready() override {
    if (connected_) return true;
    const std::optional<ChannelPlace> place = peer_.inbox.find({spec_.self, spec_.channel});
    if (!place.has_value() || place->bytes < sizeof(ControlLine)) return false;
    const Block block(place->block, spec_);
    uint64_t expected = state_of(place->generation, 0);
    // An earlier life of the channel, or one that another sender had, is passed over.
    if (!block.control().state.compare_exchange_strong(expected, expected | kTaken,
                                                       std::memory_order_acq_rel)) {
      return false;
    }
    block_ = block;
    connected_ = true;
    const ControlLine& control = block.control();
    if (control.slots != spec_.slots || control.slot_bytes != spec_.slot_bytes ||
        Block::bytes(spec_) > place->bytes) {
      return different_shapes(outgoing_name(spec_), spec_, control.slots, control.slot_bytes);
    }
    room_ = spec_.slots;
    return true;
  }

  std::byte* acquire() override {
    if (room_ > 0) [[likely]]
      return block_.payload(slot_);
    return look_for_room() ? block_.payload(slot_) : nullptr;
  }

  void publish(uint64_t tag, uint32_t bytes) override {
    SlotHeader& header = block_.header(slot_);
    header.tag = tag;
    header.bytes = bytes;
    header.sequence.store(++sent_, std::memory_order_release);
    --room_;
    if (++slot_ == spec_.slots) slot_ = 0;
    peer_.view.doorbell->ring();
  }

  Status progress() override {
    if (!connected_ || (block_.control().state.load(std::memory_order_acquire) & kClosed) == 0) return {};
    const uint64_t lost = sent_ - block_.released().released.load(std::memory_order_acquire);
    if (lost == 0) return {};
    return Status(Code::remote_error, fmt::format("rank {} closed {} with {} messages not taken", spec_.peer,
                                                  outgoing_name(spec_), lost));
  }

  bool flushed() const override { return true; }  // what is published lies in the peer's memory

 private:
  bool look_for_room() {
    if (!connected_) return false;
    const uint64_t released = block_.released().released.load(std::memory_order_acquire);
    room_ = spec_.slots - static_cast<uint32_t>(sent_ - released);
    return room_ > 0;
  }

  PeerHome peer_;
  const LinkSpec spec_;
  Block block_;
  bool connected_ = false;
  uint32_t room_ = 0;  // slots known to be free
  uint32_t slot_ = 0;  // of the next message
  uint64_t sent_ = 0;
};

class MemoryReceiver final : public Receiver {
 public:
  MemoryReceiver(Home& home, PeerHome peer, const LinkSpec& spec, const ChannelPlace& place)
      : home_(home), peer_(std::move(peer)), spec_(spec), place_(place), block_(place.block, spec) {
    new (&block_.released()) ReleasedLine{};
    for (uint32_t slot = 0; slot < spec.slots; ++slot) new (&block_.header(slot)) SlotHeader{};
    ControlLine& control = block_.control();
    control.slots = spec.slots;
    control.slot_bytes = spec.slot_bytes;
    control.state.store(state_of(place.generation, 0), std::memory_order_release);
    peer_.view.doorbell->ring();
  }
  ~MemoryReceiver() override {
    home_.inbox().withdraw({spec_.peer, spec_.channel});
    const uint64_t before = block_.control().state.fetch_or(kClosed, std::memory_order_acq_rel);
    const bool in_use = (before & kTaken) != 0;
    home_.inbox().give_back_later(place_, Block::bytes(spec_), in_use ? kLeft : 0);
    if (in_use) peer_.view.doorbell->ring();
  }
  MemoryReceiver(const MemoryReceiver&) = delete;
  MemoryReceiver& operator=(const MemoryReceiver&) = delete;

  Result<bool> ready() override { return true; }

  const Message* peek() override {
    if (held_) return &message_;
    const SlotHeader& header = block_.header(slot_);
    if (header.sequence.load(std::memory_order_acquire) != taken_ + 1) {
      wanting_ = true;
      return nullptr;
    }
    if (header.bytes > spec_.slot_bytes) [[unlikely]] {
      garbled_ = true;
      return nullptr;
    }
    message_ = {header.tag, header.bytes, block_.payload(slot_)};
    held_ = true;
    wanting_ = false;
    return &message_;
  }

  void release() override {
    held_ = false;
    block_.released().released.store(++taken_, std::memory_order_release);
    if (++slot_ == spec_.slots) slot_ = 0;
    peer_.view.doorbell->ring();
  }

  Status progress() override {
    if (garbled_) {
      return Status(Code::remote_error,
                    fmt::format("{} brought a message longer than its slots", incoming_name(spec_)));
    }
    if (!wanting_ || (block_.control().state.load(std::memory_order_acquire) & kLeft) == 0) return {};
    // What was sent before the sender left is visible by now.
    if (block_.header(slot_).sequence.load(std::memory_order_acquire) == taken_ + 1) return {};
    return Status(Code::remote_error,
                  fmt::format("rank {} closed {} after {} messages and another one is waited for", spec_.peer,
                              incoming_name(spec_), taken_));
  }

 private:
  Home& home_;
  PeerHome peer_;
  const LinkSpec spec_;
  const ChannelPlace place_;
  const Block block_;
  Message message_;
  bool held_ = false;     // message_ is the oldest message
  bool wanting_ = false;  // the last look found nothing
  bool garbled_ = false;
  uint32_t slot_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace

Result<std::unique_ptr<Sender>> open_memory_sender(PeerHome peer, const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  return std::unique_ptr<Sender>(std::make_unique<MemorySender>(std::move(peer), spec));
}

Result<std::unique_ptr<Receiver>> open_memory_receiver(Home& home, PeerHome peer, const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  Result<ChannelPlace> place = home.inbox().take(Block::bytes(spec));
  if (!place.ok()) return place.status();
  // Peers look at the state before anything else, so the order of announcing and making does not matter to
  // them; announcing first leaves nothing to undo when the directory refuses.
  if (Status announced = home.inbox().announce({spec.peer, spec.channel}, *place); !announced.ok()) {
    home.inbox().give_back(*place, Block::bytes(spec));
    return announced;
  }
  return std::unique_ptr<Receiver>(std::make_unique<MemoryReceiver>(home, std::move(peer), spec, *place));
}

}  // namespace weir
