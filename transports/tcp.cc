#include "transports/tcp.h"

#include <algorithm>

#include "src/base/host.h"
#include "src/base/log.h"
#include "transports/card.h"
#include "transports/peer_door.h"
#include "transports/tcp_channel.h"
#include "transports/tcp_wire.h"

namespace weir {
namespace {

constexpr uint32_t kCardVersion = 2;
constexpr uint32_t kDefaultStreams = 2;
// Loopback; what a network gives, it does not say. All channels share the NIC or, on loopback, the copying
// core.
constexpr Cost kCost = {.latency_us = 12, .gigabytes_per_s = 3, .shared = true};

class Tcp final : public Transport {
 public:
  Tcp(const Identity& self, Door* door, const TcpSettings& settings)
      : self_(self),
        machine_(host_identity("")),
        door_(door),
        streams_(std::min(settings.streams == 0 ? kDefaultStreams : settings.streams, tcp::kMostStreams)),
        budget_(settings.budget),
        limits_(settings.budget == nullptr     ? Limits::nobody
                : settings.budget_for_own_host ? Limits::everybody
                                               : Limits::other_hosts) {}

  ~Tcp() override {
    if (const std::string said = counters_.describe(); !said.empty())
      WEIR_INFO(net, "rank {}: {}", self_.rank, said);
  }

  std::string_view name() const override { return "tcp"; }
  Traits traits() const override { return {}; }
  Bytes card() const override {
    if (door_ == nullptr) return {};
    return begin_card(name(), kCardVersion, {self_.rank, machine_}).put(door_->address()).put(limits_).take();
  }
  Reach reach(BytesView peer_card) const override {
    const Result<Peer> peer = peer_of(peer_card);
    if (!peer.ok()) return {false, {}, peer.status().message()};
    return {true, kCost, {}};
  }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_card, const LinkSpec& spec) override {
    const Result<Peer> peer = peer_of(peer_card);
    if (!peer.ok()) return peer.status();
    return open_tcp_sender({peer->door, applies(peer->limits, *peer)}, self_.uid, streams_, spec, counters_);
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_card, const LinkSpec& spec) override {
    const Result<Peer> peer = peer_of(peer_card);
    if (!peer.ok()) return peer.status();
    return open_tcp_receiver(*door_, {peer->door, applies(limits_, *peer)}, budget_, self_.uid, spec,
                             counters_);
  }
  Result<HomeView> map(BytesView) override {
    return Status(Code::invalid_usage, "tcp cannot map the memory of a peer");
  }

 private:
  /// Whom a receiver limits.
  enum class Limits : uint32_t { nobody, other_hosts, everybody };
  struct Peer {
    SocketAddress door;
    Limits limits = Limits::nobody;
    uint64_t machine = 0;
  };

  /// The card's owner, if it can be reached from here.
  Result<Peer> peer_of(BytesView card) const {
    if (door_ == nullptr) return Status(Code::invalid_usage, "this process has no door");
    ByteReader reader(card);
    const Result<CardHead> head = read_card(reader, name(), kCardVersion);
    if (!head.ok()) return head.status();
    const Result<SocketAddress> address = read_peer_door(reader, name(), head.value(), machine_);
    if (!address.ok()) return address.status();
    const auto limits = reader.get<Limits>();
    if (!reader.ok()) return short_card(name(), head->rank);
    return Peer{*address, limits, head->host};
  }

  /// Between this rank and `other`, whichever of them limits.
  bool applies(Limits limits, const Peer& other) const {
    return limits == Limits::everybody || (limits == Limits::other_hosts && other.machine != machine_);
  }

  const Identity self_;
  const uint64_t machine_;  ///< loopback joins hosts that NCCL_HOSTID only pretends to be apart
  Door* const door_;
  const uint32_t streams_;
  CreditBudget* const budget_;
  const Limits limits_;
  tcp::Counters counters_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp(const Identity& self, Door* door, const TcpSettings& settings) {
  return std::make_unique<Tcp>(self, door, settings);
}

}  // namespace weir
