// SPDX-License-Identifier: Apache-2.0

#include "transports/paced.h"

#include <algorithm>

#include "src/base/clock.h"
#include "transports/forwarding.h"

namespace weir {
namespace {

/// Stores the time at which the bucket would be full: a message may be sent if that is at most the duration
/// of one slot ahead (the generic cell rate algorithm of ATM, ITU-T I.371).
class PacedSender final : public ForwardingSender {
 public:
  PacedSender(std::unique_ptr<Sender> inner, uint32_t slot_bytes)
      : ForwardingSender(std::move(inner)), slot_bytes_(slot_bytes) {}

  std::byte* acquire() override {
    if (ns_per_byte_ > 0 && full_ns_ - static_cast<double>(now_ns()) > ns_per_byte_ * slot_bytes_)
      return nullptr;
    return ForwardingSender::acquire();
  }
  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    ForwardingSender::publish(tag, bytes, payload);
    pour(bytes);
  }
  bool pace(double bytes_per_s) override {
    ns_per_byte_ = !ForwardingSender::pace(bytes_per_s) && bytes_per_s > 0 ? 1e9 / bytes_per_s : 0;
    return true;
  }

 private:
  void pour(uint32_t bytes) {
    if (ns_per_byte_ > 0) full_ns_ = std::max(full_ns_, static_cast<double>(now_ns())) + ns_per_byte_ * bytes;
  }

  const uint32_t slot_bytes_;
  double ns_per_byte_ = 0;  // ns per byte; 0: unlimited, or the transport itself keeps to the pace
  double full_ns_ = 0;
};

class Paced final : public ForwardingTransport {
 public:
  explicit Paced(std::unique_ptr<Transport> inner) : ForwardingTransport(std::move(inner)) {}

  Traits traits() const override {
    Traits traits = ForwardingTransport::traits();
    traits.sleeps = false;  // no doorbell rings when a bucket has filled
    traits.events = nullptr;
    return traits;
  }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    auto sender = ForwardingTransport::open_sender(peer_address, spec);
    if (!sender.ok()) return sender;
    return std::unique_ptr<Sender>(std::make_unique<PacedSender>(std::move(*sender), spec.slot_bytes));
  }
};

}  // namespace

std::unique_ptr<Transport> make_paced(std::unique_ptr<Transport> inner) {
  return std::make_unique<Paced>(std::move(inner));
}

}  // namespace weir
