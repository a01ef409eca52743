// SPDX-License-Identifier: Apache-2.0

#include "transports/unused_transport.h"

#include <utility>

namespace weir {
namespace {

class UnusedTransport final : public Transport {
 public:
  UnusedTransport(std::string name, std::string why_not)
      : name_(std::move(name)), why_not_(std::move(why_not)) {}

  std::string_view name() const override { return name_; }
  Traits traits() const override { return {}; }
  Bytes address() const override { return {}; }
  Reach reach(BytesView) const override { return {false, {}, why_not_}; }
  Result<std::unique_ptr<Sender>> open_sender(BytesView, const LinkSpec&) override { return refusal(); }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView, const LinkSpec&) override { return refusal(); }

 private:
  Status refusal() const { return {Code::invalid_usage, why_not_}; }

  const std::string name_;
  const std::string why_not_;
};

}  // namespace

std::unique_ptr<Transport> make_unused_transport(std::string name, std::string why_not) {
  return std::make_unique<UnusedTransport>(std::move(name), std::move(why_not));
}

}  // namespace weir
