// SPDX-License-Identifier: Apache-2.0

#include "transports/ucx/ucx.h"

#include "transports/address.h"
#include "transports/ucx/hub.h"

namespace weir {
namespace {

constexpr uint32_t kUcxAddressVersion = 1;
// Estimate for TCP over loopback; UCX reports neither the transport that it uses nor its speed.
constexpr Cost kUcxCost = {.latency_us = 12, .gigabytes_per_s = 3, .shared = true};

class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(const Identity& self) : self_(self) {
    auto hub = ucx::Hub::open(self.rank);
    no_hub_ = hub.status();
    if (hub.ok()) hub_ = std::move(*hub);
  }

  std::string_view name() const override { return "ucx"; }
  Traits traits() const override { return {}; }
  Bytes address() const override {
    if (hub_ == nullptr) return {};
    return begin_address(name(), kUcxAddressVersion, {self_.rank, self_.host})
        .put_bytes(hub_->worker().address())
        .take();
  }
  Reach reach(BytesView peer_address) const override {
    const Status there = worker_address_of(peer_address).status();
    return there.ok() ? Reach{true, kUcxCost, {}} : Reach{false, {}, there.message()};
  }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    const auto context = context_for(peer_address);
    WEIR_TRY(context.status());
    return ucx::open_sender(*context, spec);
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) override {
    const auto context = context_for(peer_address);
    WEIR_TRY(context.status());
    return ucx::open_receiver(*context, spec);
  }
  NetCounters counters() const override { return live_counters_.read(); }

 private:
  Result<Bytes> worker_address_of(BytesView address) const {
    WEIR_TRY(no_hub_);
    if (address.empty())
      return Status(Code::invalid_usage, "the peer has no usable UCX; its log gives the reason");
    ByteReader reader(address);
    const Result<AddressHead> head = read_address(reader, name(), kUcxAddressVersion);
    WEIR_TRY(head.status());
    Bytes worker_address = reader.get_bytes();
    if (!reader.ok() || worker_address.empty()) return short_address(name(), head->rank);
    return worker_address;
  }
  Result<ucx::ChannelContext> context_for(BytesView address) {
    const auto worker_address = worker_address_of(address);
    WEIR_TRY(worker_address.status());
    const auto lock = hub_->lock();
    const auto peer = hub_->worker().connect(*worker_address);
    WEIR_TRY(peer.status());
    return ucx::ChannelContext{hub_.get(), *peer, &live_counters_};
  }

  const Identity self_;
  Status no_hub_;
  LiveNetCounters live_counters_;
  std::unique_ptr<ucx::Hub> hub_;
};

}  // namespace

std::unique_ptr<Transport> make_ucx(const Identity& self) { return std::make_unique<UcxTransport>(self); }

}  // namespace weir
