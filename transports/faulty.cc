#include "transports/faulty.h"

#include <fmt/format.h>

#include <random>
#include <string>

namespace weir {
namespace {

/// The troubles of one end.
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
  /// Whether this look at the current message or slot sees nothing.
  bool hides() { return cut() || (hidden_ > 0 && hidden_-- > 0); }
  void next_message() {
    ++messages_;
    hidden_ = draw(delay_);
  }
  Status status() const {
    if (!cut()) return {};
    return Status(Code::remote_error,
                  fmt::format("{} was cut after {} messages, on purpose", name_, messages_));
  }

 private:
  bool cut() const { return cut_after_ != 0 && messages_ >= cut_after_; }
  // Most messages come at once; of the rest, few are late by much.
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

class FaultySender final : public Sender {
 public:
  FaultySender(std::unique_ptr<Sender> inner, const Faults& faults, const LinkSpec& spec)
      : inner_(std::move(inner)), trouble_(faults, spec, faults.room_delay, true) {}

  Result<bool> ready() override {
    if (trouble_.stalls()) return false;
    return inner_->ready();
  }
  std::byte* acquire() override { return trouble_.hides() ? nullptr : inner_->acquire(); }
  void publish(uint64_t tag, uint32_t bytes) override {
    inner_->publish(tag, bytes);
    trouble_.next_message();
  }
  Status progress() override {
    WEIR_TRY(trouble_.status());
    return inner_->progress();
  }
  bool flushed() const override { return inner_->flushed(); }

 private:
  const std::unique_ptr<Sender> inner_;
  Trouble trouble_;
};

class FaultyReceiver final : public Receiver {
 public:
  FaultyReceiver(std::unique_ptr<Receiver> inner, const Faults& faults, const LinkSpec& spec)
      : inner_(std::move(inner)), trouble_(faults, spec, faults.message_delay, false) {}

  Result<bool> ready() override {
    if (trouble_.stalls()) return false;
    return inner_->ready();
  }
  const Message* peek() override { return trouble_.hides() ? nullptr : inner_->peek(); }
  void release() override {
    inner_->release();
    trouble_.next_message();
  }
  Status progress() override {
    WEIR_TRY(trouble_.status());
    return inner_->progress();
  }

 private:
  const std::unique_ptr<Receiver> inner_;
  Trouble trouble_;
};

class Faulty final : public Transport {
 public:
  Faulty(std::unique_ptr<Transport> inner, const Faults& faults)
      : inner_(std::move(inner)), faults_(faults) {}

  std::string_view name() const override { return inner_->name(); }
  Traits traits() const override {
    Traits traits = inner_->traits();
    traits.sleeps = false;  // nobody rings when a hidden message comes to light
    return traits;
  }
  Bytes card() const override { return inner_->card(); }
  Reach reach(BytesView peer_card) const override { return inner_->reach(peer_card); }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_card, const LinkSpec& spec) override {
    auto sender = inner_->open_sender(peer_card, spec);
    if (!sender.ok()) return sender;
    return std::unique_ptr<Sender>(std::make_unique<FaultySender>(std::move(*sender), faults_, spec));
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_card, const LinkSpec& spec) override {
    auto receiver = inner_->open_receiver(peer_card, spec);
    if (!receiver.ok()) return receiver;
    return std::unique_ptr<Receiver>(std::make_unique<FaultyReceiver>(std::move(*receiver), faults_, spec));
  }
  Result<HomeView> map(BytesView peer_card) override { return inner_->map(peer_card); }
  NetCounters counters() const override { return inner_->counters(); }

 private:
  const std::unique_ptr<Transport> inner_;
  const Faults faults_;
};

}  // namespace

std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> inner, const Faults& faults) {
  return std::make_unique<Faulty>(std::move(inner), faults);
}

}  // namespace weir
