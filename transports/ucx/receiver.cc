// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cstring>

#include "transports/link_check.h"
#include "transports/slot_array.h"
#include "transports/ucx/hub.h"

namespace weir::ucx {
namespace {

class UcxReceiver final : public Receiver, private Hub::End {
 public:
  UcxReceiver(const ChannelContext& context, const LinkSpec& spec)
      : hub_(*context.hub),
        peer_(*context.peer),
        live_counters_(*context.live_counters),
        spec_(spec),
        slots_(spec.slots, spec.slot_bytes),
        arrived_(spec.slots) {
    const auto lock = hub_.lock();
    hub_.add(true, spec_.peer, spec_.channel, *this);
  }
  ~UcxReceiver() override {
    const auto lock = hub_.lock();
    hub_.remove(true, spec_.peer, spec_.channel, *this);
    if (life_ != 0 && !left_) tell(HeaderKind::closed, taken_);
  }

  Result<bool> ready() override {
    const auto lock = hub_.lock();
    WEIR_TRY(move());
    return life_ != 0;
  }

  const Message* peek() override {
    const auto lock = hub_.lock();
    const Slot& slot = arrived_[taken_ % spec_.slots];
    wanting_ = slot.message != taken_ + 1;
    if (wanting_) return nullptr;
    message_ = {slot.tag, slot.bytes, slots_[taken_ % spec_.slots]};
    return &message_;
  }

  void release() override {
    const auto lock = hub_.lock();
    ++taken_;
    live_counters_.received(message_.bytes);
    tell(HeaderKind::credit, taken_);
  }

  Status progress() override {
    const auto lock = hub_.lock();
    return move();
  }

 private:
  Status move() {
    hub_.worker().progress();
    WEIR_TRY(error_);
    if ((!wanting_ || arrived_[taken_ % spec_.slots].message == taken_ + 1) && life_ != 0) return {};
    const Status lost = peer_.state();
    if (lost.ok() && !left_) return {};
    return Status(Code::remote_error,
                  fmt::format("rank {} ended {} after {} messages: {}", spec_.peer, incoming_name(spec_),
                              taken_, left_ ? "the sender closed the channel" : lost.message()));
  }

  struct Slot {
    uint64_t message = 0;  // number of the message in the slot plus 1; 0: none
    uint64_t tag = 0;
    uint32_t bytes = 0;
  };

  void tell(HeaderKind kind, uint64_t number) {
    hub_.tell(peer_, {.kind = kind, .channel = spec_.channel, .life = life_, .number = number});
  }

  bool take(const Header& header, BytesView payload) override {
    if (header.kind == HeaderKind::hello) return begin(header);
    if (header.life != life_) return true;  // belongs to an earlier life
    if (header.kind == HeaderKind::left)
      left_ = true;
    else
      keep(header, payload);
    return true;
  }

  /// A life without messages is replaced by a later one, because its sender has gone.
  bool begin(const Header& hello) {
    if (hello.life <= life_) return true;
    if (any_) return false;
    life_ = hello.life;
    left_ = false;
    if (hello.slots != spec_.slots || hello.slot_bytes != spec_.slot_bytes)
      error_ = different_shapes(incoming_name(spec_), spec_, hello.slots, hello.slot_bytes);
    else
      tell(HeaderKind::welcome, 0);
    return true;
  }

  void keep(const Header& header, BytesView payload) {
    any_ = true;
    if (header.number < taken_ || header.number >= taken_ + spec_.slots ||
        payload.size() > spec_.slot_bytes) {
      error_ = Status(
          Code::remote_error,
          fmt::format("{} delivered message {} of {} bytes; expected messages {} to {} of at most {} bytes",
                      incoming_name(spec_), header.number, payload.size(), taken_, taken_ + spec_.slots - 1,
                      spec_.slot_bytes));
      return;
    }
    const uint64_t slot = header.number % spec_.slots;
    if (!payload.empty()) std::memcpy(slots_[slot], payload.data(), payload.size());
    arrived_[slot] = {header.number + 1, header.tag, static_cast<uint32_t>(payload.size())};
  }

  Hub& hub_;
  drivers::UcxPeer& peer_;
  LiveNetCounters& live_counters_;
  const LinkSpec spec_;
  SlotArray slots_;
  std::vector<Slot> arrived_;
  int64_t life_ = 0;      // life of the sender; 0: no hello has arrived
  bool any_ = false;      // a message of this life has arrived
  bool left_ = false;     // the sender has left
  bool wanting_ = false;  // the last poll found no message
  uint64_t taken_ = 0;
  Message message_;
  Status error_;
};

}  // namespace

Result<std::unique_ptr<Receiver>> open_receiver(const ChannelContext& context, const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  return std::unique_ptr<Receiver>(std::make_unique<UcxReceiver>(context, spec));
}

}  // namespace weir::ucx
