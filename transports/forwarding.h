// SPDX-License-Identifier: Apache-2.0
/// Base classes of decorators: ends and transports that forward all calls to another one.
///
/// Thread safety: as the decorated object.
/// Tests: tests/transports/faulty_test.cc, tests/transports/pace_test.cc
#pragma once

#include <memory>
#include <utility>

#include "transports/transport.h"

namespace weir {

class ForwardingSender : public Sender {
 public:
  explicit ForwardingSender(std::unique_ptr<Sender> inner) : inner_(std::move(inner)) {}

  Result<bool> ready() override { return inner_->ready(); }
  std::byte* acquire() override { return inner_->acquire(); }
  void publish(uint64_t tag, uint32_t bytes, const Payload& payload) override {
    inner_->publish(tag, bytes, payload);
  }
  SendMode send_mode(const Payload& payload, uint32_t bytes) const override {
    return inner_->send_mode(payload, bytes);
  }
  void recall() override { inner_->recall(); }
  Status progress() override { return inner_->progress(); }
  bool flushed() const override { return inner_->flushed(); }
  bool pace(double bytes_per_s) override { return inner_->pace(bytes_per_s); }

 private:
  const std::unique_ptr<Sender> inner_;
};

class ForwardingReceiver : public Receiver {
 public:
  explicit ForwardingReceiver(std::unique_ptr<Receiver> inner) : inner_(std::move(inner)) {}

  Result<bool> ready() override { return inner_->ready(); }
  const Message* peek() override { return inner_->peek(); }
  bool fetch(std::byte* to) override { return inner_->fetch(to); }
  void release() override { inner_->release(); }
  Status progress() override { return inner_->progress(); }

 private:
  const std::unique_ptr<Receiver> inner_;
};

class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  Traits traits() const override { return inner_->traits(); }
  Bytes address() const override { return inner_->address(); }
  Reach reach(BytesView peer_address) const override { return inner_->reach(peer_address); }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    return inner_->open_sender(peer_address, spec);
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) override {
    return inner_->open_receiver(peer_address, spec);
  }
  SlotRegistrar* slot_registrar() override { return inner_->slot_registrar(); }
  SegmentMapper* segment_mapper() override { return inner_->segment_mapper(); }
  NetCounters counters() const override { return inner_->counters(); }

 private:
  const std::unique_ptr<Transport> inner_;
};

}  // namespace weir
