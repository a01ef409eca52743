#include "transports/tcp.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "src/base/host.h"
#include "transports/card.h"
#include "transports/tcp_channel.h"
#include "transports/tcp_wire.h"

namespace weir {
namespace {

constexpr uint32_t kCardVersion = 1;
constexpr uint32_t kDefaultStreams = 2;
// Loopback; what a network gives, it does not say. All channels share the NIC or, on loopback, the copying
// core.
constexpr Cost kCost = {.latency_us = 12, .gigabytes_per_s = 3, .shared = true};

/// Asks the routing table, without sending anything.
Status check_route(const SocketAddress& to) {
  const Socket probe(socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage raw{};
  const socklen_t size = to.to_raw(raw);
  if (probe.valid() && connect(probe.fd(), reinterpret_cast<const sockaddr*>(&raw), size) == 0) return {};
  return Status(Code::system_error, fmt::format("this host has no way to {}: {}; choose the interface with "
                                                "NCCL_SOCKET_IFNAME or the family with NCCL_SOCKET_FAMILY",
                                                to.text(), std::generic_category().message(errno)));
}

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
    const auto address = reader.get<SocketAddress>();
    if (!reader.ok() || !address.valid()) return short_card(name(), head.value().rank);
    if (address.is_loopback() && head.value().host != machine_) {
      return Status(
          Code::invalid_usage,
          fmt::format("rank {} can be reached at {} on its own host only; choose an interface that other "
                      "hosts see with NCCL_SOCKET_IFNAME",
                      head.value().rank, address.text()));
    }
    WEIR_TRY(check_route(address));
    return address;
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
