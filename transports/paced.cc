#include "transports/paced.h"

#include <algorithm>

#include "src/base/clock.h"

namespace weir {
namespace {

/// The bucket is kept as the time at which it would be full again: a message may go while that is not
/// further ahead than a slot lasts (the generic cell rate algorithm of ATM, ITU-T I.371).
class PacedSender final : public Sender {
 public:
  PacedSender(std::unique_ptr<Sender> inner, uint32_t slot_bytes)
      : inner_(std::move(inner)), slot_bytes_(slot_bytes) {}

  Result<bool> ready() override { return inner_->ready(); }
  std::byte* acquire() override {
    if (ns_per_byte_ > 0 && full_ns_ - static_cast<double>(now_ns()) > ns_per_byte_ * slot_bytes_)
      return nullptr;
    return inner_->acquire();
  }
  void publish(uint64_t tag, uint32_t bytes) override {
    inner_->publish(tag, bytes);
    if (ns_per_byte_ > 0) full_ns_ = std::max(full_ns_, static_cast<double>(now_ns())) + ns_per_byte_ * bytes;
  }
  Status progress() override { return inner_->progress(); }
  bool flushed() const override { return inner_->flushed(); }
  bool pace(double bytes_per_s) override {
    ns_per_byte_ = !inner_->pace(bytes_per_s) && bytes_per_s > 0 ? 1e9 / bytes_per_s : 0;
    return true;
  }

 private:
  const std::unique_ptr<Sender> inner_;
  const uint32_t slot_bytes_;
  double ns_per_byte_ = 0;  // 0: any, or the transport sees to it
  double full_ns_ = 0;
};

class Paced final : public Transport {
 public:
  explicit Paced(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  Traits traits() const override {
    Traits traits = inner_->traits();
    traits.sleeps = false;  // nobody rings when a bucket has filled
    return traits;
  }
  Bytes card() const override { return inner_->card(); }
  Reach reach(BytesView peer_card) const override { return inner_->reach(peer_card); }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_card, const LinkSpec& spec) override {
    auto sender = inner_->open_sender(peer_card, spec);
    if (!sender.ok()) return sender;
    return std::unique_ptr<Sender>(std::make_unique<PacedSender>(std::move(*sender), spec.slot_bytes));
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_card, const LinkSpec& spec) override {
    return inner_->open_receiver(peer_card, spec);
  }
  Result<HomeView> map(BytesView peer_card) override { return inner_->map(peer_card); }
  NetCounters counters() const override { return inner_->counters(); }

 private:
  const std::unique_ptr<Transport> inner_;
};

}  // namespace

std::unique_ptr<Transport> make_paced(std::unique_ptr<Transport> inner) {
  return std::make_unique<Paced>(std::move(inner));
}

}  // namespace weir
