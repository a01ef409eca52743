#include "src/core/counted.h"

#include <utility>

#include "transports/forwarding.h"

namespace weir::core {
namespace {

class CountedSender final : public ForwardingSender {
 public:
  CountedSender(std::unique_ptr<Sender> inner, std::shared_ptr<ChannelTally> tally)
      : ForwardingSender(std::move(inner)), tally_(std::move(tally)) {}

  void publish(uint64_t tag, uint32_t bytes) override {
    ForwardingSender::publish(tag, bytes);
    tally_->carried(bytes);
  }
  void publish_from(uint64_t tag, const std::byte* source, uint32_t bytes) override {
    ForwardingSender::publish_from(tag, source, bytes);
    tally_->carried(bytes);
  }

 private:
  const std::shared_ptr<ChannelTally> tally_;
};

class CountedReceiver final : public ForwardingReceiver {
 public:
  CountedReceiver(std::unique_ptr<Receiver> inner, std::shared_ptr<ChannelTally> tally)
      : ForwardingReceiver(std::move(inner)), tally_(std::move(tally)) {}

  const Message* peek() override {
    const Message* const message = ForwardingReceiver::peek();
    if (message != nullptr) bytes_ = message->bytes;
    return message;
  }
  void release() override {
    ForwardingReceiver::release();
    tally_->carried(bytes_);
  }

 private:
  const std::shared_ptr<ChannelTally> tally_;
  uint32_t bytes_ = 0;  ///< of the oldest message
};

}  // namespace

std::unique_ptr<Sender> counted(std::unique_ptr<Sender> inner, std::shared_ptr<ChannelTally> tally) {
  if (tally == nullptr) return inner;
  return std::make_unique<CountedSender>(std::move(inner), std::move(tally));
}

std::unique_ptr<Receiver> counted(std::unique_ptr<Receiver> inner, std::shared_ptr<ChannelTally> tally) {
  if (tally == nullptr) return inner;
  return std::make_unique<CountedReceiver>(std::move(inner), std::move(tally));
}

}  // namespace weir::core
