// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/cma_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "transports/link_check.h"
#include "transports/slot_array.h"

namespace weir::cma {
namespace {

/// Precedes each payload in a slot.
struct alignas(64) SlotHead {
  uint64_t sequence;  // number of the message, from 1
  uint64_t tag;
  uint32_t bytes;
};

// Payload bytes that are read together with the header; cheaper than a second system call.
constexpr uint32_t kEager = 448;

uint32_t whole_slot(const LinkSpec& spec) { return sizeof(SlotHead) + spec.slot_bytes; }

size_t slot_stride(const LinkSpec& spec) { return (size_t{whole_slot(spec)} + 63) / 64 * 64; }

/// This end's control block on the local board, and the other end's on the peer's board.
class Pairing {
 public:
  Pairing(Board& board, const PeerBoard& peer, const LinkSpec& spec, bool sends, Control* own)
      : board_(board),
        peer_(peer),
        key_{spec.peer, spec.channel, sends},
        peer_key_{spec.self, spec.channel, !sends},
        own_(own) {}
  ~Pairing() { board_.close(key_, own_); }
  Pairing(const Pairing&) = delete;
  Pairing& operator=(const Pairing&) = delete;

  Control& own() const { return *own_; }
  const RemoteMemory& memory() const { return peer_.memory(); }
  RemoteAddress block() const { return block_; }
  uint64_t token() const { return token_; }  // token of the other end, once chosen

  /// Finds the other end on the peer's board; nullopt if it is not open.
  std::optional<ControlCopy> look() {
    const std::optional<RemoteAddress> block = peer_.find(peer_key_);
    if (!block.has_value()) return {};
    ControlCopy copy;
    if (memory().read({{&copy, *block, sizeof copy}}) != 0 || copy.token == 0) return {};
    // A block may be reused by another end at any time. It belonged to this end if the look-up still finds
    // it, and the copy is valid if it still has the token, which no other end ever has.
    if (peer_.find(peer_key_) != block) return {};
    uint64_t token_after = 0;
    if (memory().read({{&token_after, *block, sizeof token_after}}) != 0 || copy.token != token_after)
      return {};
    block_ = *block;
    return copy;
  }
  /// Binds this end to the other end that has this token.
  void choose(uint64_t token) {
    token_ = token;
    own_->bound.store(token, std::memory_order_release);
  }
  void set_count(uint64_t count) {
    own_->count_again.store(count, std::memory_order_release);
    own_->count.store(count, std::memory_order_release);
  }

 private:
  Board& board_;
  const PeerBoard peer_;
  const EndKey key_;
  const EndKey peer_key_;
  Control* const own_;
  RemoteAddress block_ = 0;
  uint64_t token_ = 0;
};

class CmaSender final : public Sender {
 public:
  CmaSender(Board& board, const PeerBoard& peer, const LinkSpec& spec, SlotArray slots, Control* own)
      : spec_(spec), slots_(std::move(slots)), pairing_(board, peer, spec, true, own) {}

  Result<bool> ready() override {
    if (ready_) return true;
    const std::optional<ControlCopy> other = pairing_.look();
    if (!other.has_value() || other->bound != pairing_.own().token.load(std::memory_order_relaxed))
      return false;
    pairing_.choose(other->token);
    ready_ = true;
    return true;
  }

  std::byte* acquire() override {
    starved_ = !ready_ || published_ - fetched_ >= spec_.slots;
    return starved_ ? nullptr : slots_[published_ % spec_.slots] + sizeof(SlotHead);
  }

  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    fill_slot(payload, bytes);
    auto* head = reinterpret_cast<SlotHead*>(slots_[published_ % spec_.slots]);
    *head = {published_ + 1, tag, bytes};
    pairing_.set_count(++published_);
  }

  Status progress() override {
    if (!ready_ || gone_ || published_ == fetched_) return gone_ && starved_ ? closed() : Status();
    ControlCopy other;
    const int error = pairing_.memory().read({{&other, pairing_.block(), sizeof other}});
    gone_ = error != 0 || other.token != pairing_.token();
    if (!gone_ && other.settled()) fetched_ = other.count;
    return gone_ && starved_ ? closed() : Status();
  }

  bool flushed() const override { return published_ == fetched_ || gone_; }

 private:
  Status closed() const {
    return Status(Code::remote_error,
                  fmt::format("rank {} (process {}) closed {} with {} messages not received", spec_.peer,
                              pairing_.memory().pid(), outgoing_name(spec_), published_ - fetched_));
  }

  const LinkSpec spec_;
  const SlotArray slots_;
  Pairing pairing_;  // destroyed first: peers do not read the slots without its token
  bool ready_ = false;
  bool gone_ = false;     // the other end has closed
  bool starved_ = false;  // the last poll found no free slot
  uint64_t published_ = 0;
  uint64_t fetched_ = 0;  // number of messages that the receiver has fetched, as last read
};

class CmaReceiver final : public Receiver {
 public:
  CmaReceiver(Board& board, const PeerBoard& peer, const LinkSpec& spec, Control* own)
      : spec_(spec), slots_(spec.slots, whole_slot(spec)), pairing_(board, peer, spec, false, own) {}

  Result<bool> ready() override {
    if (ready_) return true;
    const std::optional<ControlCopy> other = pairing_.look();
    const uint64_t token = pairing_.own().token.load(std::memory_order_relaxed);
    // A sender that is bound to another receiver belongs to an earlier life of the channel.
    if (!other.has_value() || (other->bound != 0 && other->bound != token)) return false;
    if (other->slots != spec_.slots || other->slot_bytes != spec_.slot_bytes) {
      return different_shapes(incoming_name(spec_), spec_, other->slots, other->slot_bytes);
    }
    if (pairing_.token() != other->token) pairing_.choose(other->token);
    sender_slots_ = other->memory;
    ready_ = other->bound == token;
    return ready_;
  }

  const Message* peek() override {
    wanting_ = taken_ == fetched_;
    if (wanting_) return nullptr;
    const auto& head = *reinterpret_cast<const SlotHead*>(slot(taken_));
    message_ = {head.tag, head.bytes, slot(taken_) + sizeof(SlotHead)};
    return &message_;
  }

  void release() override { ++taken_; }

  Status progress() override {
    if (!error_.ok()) return error_;
    if (!ready_) return ready().status();
    if (!gone_) fetch();
    if (error_.ok() && gone_ && wanting_ && taken_ == fetched_) return closed();
    return error_;
  }

 private:
  std::byte* slot(uint64_t message) const { return slots_[message % spec_.slots]; }
  RemoteAddress sender_slot(uint64_t message) const {
    return sender_slots_ + message % spec_.slots * slot_stride(spec_);
  }

  /// Fetches available messages into free slots. One system call copies the rest of a message, then the
  /// sender's counter, then the begin of the next message; in this order, messages that the counter includes
  /// were complete before they were copied. The token is read again last, because the copies are invalid if
  /// the sender closed meanwhile.
  void fetch() {
    const uint32_t begin_bytes =
        std::min(static_cast<uint32_t>(sizeof(SlotHead)) + kEager, whole_slot(spec_));
    uint32_t rest = 0;  // bytes of message fetched_ that are still missing
    for (;;) {
      const uint64_t next = fetched_ + (rest > 0 ? 1 : 0);
      const bool room = next < taken_ + spec_.slots;
      ControlCopy other;
      uint64_t token_after = 0;
      const int failed = pairing_.memory().read({
          {slot(fetched_) + begin_bytes, sender_slot(fetched_) + begin_bytes, rest},
          {&other, pairing_.block(), sizeof other},
          {slot(next), sender_slot(next), room ? begin_bytes : 0},
          {&token_after, pairing_.block(), sizeof token_after},
      });
      gone_ = failed != 0 || other.token != pairing_.token() || token_after != pairing_.token();
      if (gone_) return;
      if (rest > 0) ++fetched_;
      rest = 0;
      const bool came = room && other.settled() && other.count > next;
      if (came && !begin_message(next, begin_bytes, rest)) return;
      if (came && rest == 0) ++fetched_;
      pairing_.set_count(fetched_);
      if (!came) return;
    }
  }

  /// Checks the begin of message `next` in its slot; sets `rest` to the number of missing bytes. Returns
  /// false if the begin is invalid.
  bool begin_message(uint64_t next, uint32_t begin_bytes, uint32_t& rest) {
    const auto& head = *reinterpret_cast<const SlotHead*>(slot(next));
    if (head.sequence != next + 1 || head.bytes > spec_.slot_bytes) {
      error_ =
          Status(Code::remote_error,
                 fmt::format("{} delivered message {} of {} bytes; expected message {} of at most {} bytes",
                             incoming_name(spec_), head.sequence, head.bytes, next + 1, spec_.slot_bytes));
      return false;
    }
    const uint32_t all = sizeof(SlotHead) + head.bytes;
    rest = all > begin_bytes ? all - begin_bytes : 0;
    return true;
  }

  Status closed() const {
    return Status(
        Code::remote_error,
        fmt::format("rank {} (process {}) closed {} after {} messages, while this rank waits for another one",
                    spec_.peer, pairing_.memory().pid(), incoming_name(spec_), taken_));
  }

  const LinkSpec spec_;
  const SlotArray slots_;
  Pairing pairing_;
  RemoteAddress sender_slots_ = 0;
  bool ready_ = false;
  bool gone_ = false;     // the other end has closed
  bool wanting_ = false;  // the last poll found no message
  uint64_t fetched_ = 0;
  uint64_t taken_ = 0;
  Message message_;
  Status error_;
};

}  // namespace

Result<std::unique_ptr<Sender>> open_cma_sender(Board& board, const PeerBoard& peer, const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  SlotArray slots(spec.slots, whole_slot(spec));
  const SlotLayout shape = {spec.slots, spec.slot_bytes, reinterpret_cast<RemoteAddress>(slots[0])};
  Result<Control*> own = board.open({spec.peer, spec.channel, true}, shape);
  if (!own.ok()) return own.status();
  return std::unique_ptr<Sender>(std::make_unique<CmaSender>(board, peer, spec, std::move(slots), *own));
}

Result<std::unique_ptr<Receiver>> open_cma_receiver(Board& board, const PeerBoard& peer,
                                                    const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  Result<Control*> own = board.open({spec.peer, spec.channel, false}, {});
  if (!own.ok()) return own.status();
  return std::unique_ptr<Receiver>(std::make_unique<CmaReceiver>(board, peer, spec, *own));
}

}  // namespace weir::cma
