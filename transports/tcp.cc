#include "transports/tcp.h"

#include <algorithm>

#include "src/base/host.h"
#include "transports/card.h"
#include "transports/peer_door.h"
#include "transports/tcp_channel.h"
#include "transports/tcp_wire.h"

namespace weir {
namespace {

constexpr uint32_t kCardVersion = 1;
constexpr uint32_t kDefaultStreams = 2;
// Loopback; what a network gives, it does not say. All channels share the NIC or, on loopback, the copying
// core.
constexpr Cost kCost = {.latency_us = 12, .gigabytes_per_s = 3, .shared = true};

class Tcp final : public Transport {
 public:
  Tcp(const Identity& self, Door* door, uint32_t streams)
      : self_(self),
        machine_(host_identity("")),
        door_(door),
        streams_(std::min(streams == 0 ? kDefaultStreams : streams, tcp::kMostStreams)) {}

  std::string_view name() const override { return "tcp"; }
  Traits traits() const override { return {}; }
  Bytes card() const override {
    if (door_ == nullptr) return {};
    return begin_card(name(), kCardVersion, {self_.rank, machine_}).put(door_->address()).take();
  }
  Reach reach(BytesView peer_card) const override {
    const Result<SocketAddress> address = address_of(peer_card);
    if (!address.ok()) return {false, {}, address.status().message()};
    return {true, kCost, {}};
  }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_card, const LinkSpec& spec) override {
    const Result<SocketAddress> address = address_of(peer_card);
    if (!address.ok()) return address.status();
    return open_tcp_sender(address.value(), self_.uid, streams_, spec);
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_card, const LinkSpec& spec) override {
    const Result<SocketAddress> address = address_of(peer_card);
    if (!address.ok()) return address.status();
    return open_tcp_receiver(*door_, address.value(), self_.uid, spec);
  }
  Result<HomeView> map(BytesView) override {
    return Status(Code::invalid_usage, "tcp cannot map the memory of a peer");
  }

 private:
  /// The door of the card's owner, if it can be reached from here.
  Result<SocketAddress> address_of(BytesView card) const {
    if (door_ == nullptr) return Status(Code::invalid_usage, "this process has no door");
    ByteReader reader(card);
    const Result<CardHead> head = read_card(reader, name(), kCardVersion);
    if (!head.ok()) return head.status();
    return read_peer_door(reader, name(), head.value(), machine_);
  }

  const Identity self_;
  const uint64_t machine_;  ///< loopback joins hosts that NCCL_HOSTID only pretends to be apart
  Door* const door_;
  const uint32_t streams_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp(const Identity& self, Door* door, uint32_t streams) {
  return std::make_unique<Tcp>(self, door, streams);
}

}  // namespace weir
