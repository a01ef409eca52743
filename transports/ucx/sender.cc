// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include "src/base/clock.h"
#include "transports/link_check.h"
#include "transports/slot_array.h"
#include "transports/ucx/hub.h"

namespace weir::ucx {
namespace {

/// Slots and their headers; UCX may need them longer than the end lives.
struct Outgoing : drivers::UcxOutgoing {
  explicit Outgoing(const LinkSpec& spec) : slots(spec.slots, spec.slot_bytes), headers(spec.slots) {}
  SlotArray slots;
  std::vector<Header> headers;  // header of the message in each slot
};

class UcxSender final : public Sender, private Hub::End {
 public:
  UcxSender(const ChannelContext& context, const LinkSpec& spec)
      : hub_(*context.hub),
        peer_(*context.peer),
        live_counters_(*context.live_counters),
        spec_(spec),
        life_(now_ns()),
        outgoing_(std::make_shared<Outgoing>(spec)),
        flush_(std::make_shared<drivers::UcxOutgoing>()) {
    const auto lock = hub_.lock();
    hub_.add(false, spec_.peer, spec_.channel, *this);
    hub_.tell(peer_, header(HeaderKind::hello, 0));
  }
  ~UcxSender() override {
    const auto lock = hub_.lock();
    hub_.remove(false, spec_.peer, spec_.channel, *this);
    if (!closed_) hub_.tell(peer_, header(HeaderKind::left, published_));
  }

  Result<bool> ready() override {
    const auto lock = hub_.lock();
    WEIR_TRY(move());
    return welcome_;
  }

  std::byte* acquire() override {
    const auto lock = hub_.lock();
    if (!welcome_ || published_ - taken_ >= spec_.slots) return nullptr;
    return outgoing_->slots[published_ % spec_.slots];
  }

  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    fill_slot(payload, bytes);
    const auto lock = hub_.lock();
    Header& own = outgoing_->headers[published_ % spec_.slots];
    own = header(HeaderKind::message, published_);
    own.tag = tag;
    const BytesView body(outgoing_->slots[published_ % spec_.slots], bytes);
    ++published_;
    live_counters_.sent(bytes);
    hub_.worker().send(peer_, std::as_bytes(std::span(&own, 1)), body, outgoing_);
    if (outgoing_->under_way > 0) hub_.see_to(outgoing_);
  }

  Status progress() override {
    const auto lock = hub_.lock();
    return move();
  }

  /// Delegates the remaining messages to the hub.
  bool flushed() const override {
    const auto lock = hub_.lock();
    return flushing_ == published_;
  }

 private:
  Status move() {
    hub_.worker().progress();
    if (flushing_ < published_ && flush_->under_way == 0 && outgoing_->under_way == 0) {
      flushing_ = published_;
      hub_.worker().flush(peer_, flush_);
      if (flush_->under_way > 0) hub_.see_to(flush_);
    }
    if (published_ == taken_ && welcome_) return {};  // no acknowledgement is due
    const Status* const trouble = !outgoing_->trouble.ok() ? &outgoing_->trouble : &flush_->trouble;
    if (!trouble->ok()) return broken(trouble->message());
    if (const Status lost = peer_.state(); !lost.ok()) return broken(lost.message());
    return closed_ ? broken("the receiver closed the channel") : Status();
  }

  Header header(HeaderKind kind, uint64_t number) const {
    return {.kind = kind,
            .from = spec_.self,
            .channel = spec_.channel,
            .life = life_,
            .number = number,
            .slots = spec_.slots,
            .slot_bytes = spec_.slot_bytes};
  }

  bool take(const Header& header, BytesView) override {
    if (header.life != life_) return true;  // belongs to an earlier life
    welcome_ = true;
    if (header.kind == HeaderKind::closed) closed_ = true;
    if (header.kind == HeaderKind::credit && header.number <= published_)
      taken_ = std::max(taken_, header.number);
    return true;
  }

  Status broken(const std::string& why) const {
    return Status(Code::remote_error,
                  fmt::format("connection to rank {} lost on {}; {} messages in flight: {}", spec_.peer,
                              outgoing_name(spec_), published_ - taken_, why));
  }

  Hub& hub_;
  drivers::UcxPeer& peer_;
  LiveNetCounters& live_counters_;
  const LinkSpec spec_;
  const int64_t life_;
  const std::shared_ptr<Outgoing> outgoing_;
  const std::shared_ptr<drivers::UcxOutgoing> flush_;
  bool welcome_ = false;
  bool closed_ = false;
  uint64_t published_ = 0;
  uint64_t taken_ = 0;     // number of messages that the receiver has released
  uint64_t flushing_ = 0;  // all messages before it are sent by the hub
};

}  // namespace

Result<std::unique_ptr<Sender>> open_sender(const ChannelContext& context, const LinkSpec& spec) {
  WEIR_TRY(check_spec(spec));
  return std::unique_ptr<Sender>(std::make_unique<UcxSender>(context, spec));
}

}  // namespace weir::ucx
