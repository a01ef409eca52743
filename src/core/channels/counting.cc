// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/counting.h"

#include <utility>

#include "transports/forwarding.h"

namespace weir::core {
namespace {

class CountingSender final : public ForwardingSender {
 public:
  CountingSender(std::unique_ptr<Sender> inner, std::shared_ptr<ChannelCounters> counters)
      : ForwardingSender(std::move(inner)), counters_(std::move(counters)) {}

  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    ForwardingSender::publish(tag, bytes, payload);
    counters_->carried(bytes);
  }

 private:
  const std::shared_ptr<ChannelCounters> counters_;
};

class CountingReceiver final : public ForwardingReceiver {
 public:
  CountingReceiver(std::unique_ptr<Receiver> inner, std::shared_ptr<ChannelCounters> counters)
      : ForwardingReceiver(std::move(inner)), counters_(std::move(counters)) {}

  const Message* peek() override {
    const Message* const message = ForwardingReceiver::peek();
    if (message != nullptr) bytes_ = message->bytes;
    return message;
  }
  void release() override {
    ForwardingReceiver::release();
    counters_->carried(bytes_);
  }

 private:
  const std::shared_ptr<ChannelCounters> counters_;
  uint32_t bytes_ = 0;  ///< size of the oldest message
};

}  // namespace

std::unique_ptr<Sender> counting(std::unique_ptr<Sender> inner, std::shared_ptr<ChannelCounters> counters) {
  if (counters == nullptr) return inner;
  return std::make_unique<CountingSender>(std::move(inner), std::move(counters));
}

std::unique_ptr<Receiver> counting(std::unique_ptr<Receiver> inner,
                                   std::shared_ptr<ChannelCounters> counters) {
  if (counters == nullptr) return inner;
  return std::make_unique<CountingReceiver>(std::move(inner), std::move(counters));
}

}  // namespace weir::core
