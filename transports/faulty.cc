// SPDX-License-Identifier: Apache-2.0

#include "transports/faulty.h"

#include <fmt/format.h>

#include <random>
#include <string>

#include "transports/forwarding.h"

namespace weir {
namespace {

/// The faults of one end.
class Trouble {
 public:
  Trouble(const Faults& faults, const LinkSpec& spec, uint32_t delay, bool sends)
      : random_(faults.seed ^ (uint64_t{spec.channel} << 20) ^ (static_cast<uint64_t>(spec.self) << 8) ^
                sends),
        delay_(delay),
        cut_after_(faults.cut_after),
        name_(fmt::format("channel {} {} rank {}", spec.channel, sends ? "to" : "from", spec.peer)) {
    stall_ = draw(faults.ready_stall);
    hidden_ = draw(delay_);
  }

  bool stalls() { return stall_ > 0 && stall_-- > 0; }
  /// Whether this poll hides the current message or free slot.
  bool hides() { return cut() || (hidden_ > 0 && hidden_-- > 0); }
  void next_message() {
    ++messages_;
    hidden_ = draw(delay_);
  }
  Status status() const {
    if (!cut()) return {};
    return Status(Code::remote_error,
                  fmt::format("{} was cut after {} messages (injected fault)", name_, messages_));
  }

 private:
  bool cut() const { return cut_after_ != 0 && messages_ >= cut_after_; }
  // Most messages are not delayed; of the others, few are delayed much.
  uint32_t draw(uint32_t most) {
    if (most == 0 || random_() % 4 != 0) return 0;
    return static_cast<uint32_t>(random_() % most + 1);
  }

  std::minstd_rand random_;
  const uint32_t delay_;
  const uint64_t cut_after_;
  const std::string name_;
  uint32_t stall_ = 0;
  uint32_t hidden_ = 0;
  uint64_t messages_ = 0;
};

class FaultySender final : public ForwardingSender {
 public:
  FaultySender(std::unique_ptr<Sender> inner, const Faults& faults, const LinkSpec& spec)
      : ForwardingSender(std::move(inner)), trouble_(faults, spec, faults.room_delay, true) {}

  Result<bool> ready() override {
    if (trouble_.stalls()) return false;
    return ForwardingSender::ready();
  }
  std::byte* acquire() override { return trouble_.hides() ? nullptr : ForwardingSender::acquire(); }
  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    ForwardingSender::publish(tag, bytes, payload);
    trouble_.next_message();
  }
  Status progress() override {
    WEIR_TRY(trouble_.status());
    return ForwardingSender::progress();
  }

 private:
  Trouble trouble_;
};

class FaultyReceiver final : public ForwardingReceiver {
 public:
  FaultyReceiver(std::unique_ptr<Receiver> inner, const Faults& faults, const LinkSpec& spec)
      : ForwardingReceiver(std::move(inner)), trouble_(faults, spec, faults.message_delay, false) {}

  Result<bool> ready() override {
    if (trouble_.stalls()) return false;
    return ForwardingReceiver::ready();
  }
  const Message* peek() override { return trouble_.hides() ? nullptr : ForwardingReceiver::peek(); }
  void release() override {
    ForwardingReceiver::release();
    trouble_.next_message();
  }
  Status progress() override {
    WEIR_TRY(trouble_.status());
    return ForwardingReceiver::progress();
  }

 private:
  Trouble trouble_;
};

class Faulty final : public ForwardingTransport {
 public:
  Faulty(std::unique_ptr<Transport> inner, const Faults& faults)
      : ForwardingTransport(std::move(inner)), faults_(faults) {}

  Traits traits() const override {
    Traits traits = ForwardingTransport::traits();
    traits.sleeps = false;  // no doorbell rings when a hidden message becomes visible
    traits.events = nullptr;
    return traits;
  }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    auto sender = ForwardingTransport::open_sender(peer_address, spec);
    if (!sender.ok()) return sender;
    return std::unique_ptr<Sender>(std::make_unique<FaultySender>(std::move(*sender), faults_, spec));
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) override {
    auto receiver = ForwardingTransport::open_receiver(peer_address, spec);
    if (!receiver.ok()) return receiver;
    return std::unique_ptr<Receiver>(std::make_unique<FaultyReceiver>(std::move(*receiver), faults_, spec));
  }

 private:
  const Faults faults_;
};

}  // namespace

std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> inner, const Faults& faults) {
  return std::make_unique<Faulty>(std::move(inner), faults);
}

}  // namespace weir
