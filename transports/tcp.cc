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
        settings_(settings),
        limits_(settings.budget == nullptr     ? Limits::nobody
                : settings.budget_for_own_host ? Limits::everybody
                                               : Limits::other_hosts),
        rails_(door == nullptr ? std::vector<tcp::Rail>() : own_rails(*door)) {}

  ~Tcp() override {
    if (const std::string said = counters_.describe(); !said.empty())
      WEIR_INFO(net, "rank {}: {}", self_.rank, said);
  }

  std::string_view name() const override { return "tcp"; }
  Traits traits() const override { return {}; }
  Bytes card() const override {
    if (door_ == nullptr) return {};
    ByteWriter card = begin_card(name(), kCardVersion, {self_.rank, machine_});
    card.put(door_->address()).put(limits_).put(static_cast<uint32_t>(rails_.size()));
    for (const tcp::Rail& rail : rails_) rail.put(card);
    return card.take();
  }
  Reach reach(BytesView peer_card) const override {
    const Result<Peer> peer = peer_of(peer_card);
    if (!peer.ok()) return {false, {}, peer.status().message()};
    return {true, kCost, {}};
  }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_card, const LinkSpec& spec) override {
    Result<Peer> peer = peer_of(peer_card);
    WEIR_TRY(peer.status());
    peer->where.credit = applies(peer->limits, *peer);
    const auto paths = static_cast<uint32_t>(peer->where.paths.size());
    const uint32_t streams = settings_.streams == 0 ? std::max(kDefaultStreams, paths) : settings_.streams;
    return open_tcp_sender(std::move(peer->where), self_.uid, std::min(streams, tcp::kMostStreams),
                           static_cast<int64_t>(settings_.path_timeout_s * 1e9), spec,
                           settings_.spreads ? &uses_ : nullptr, counters_);
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_card, const LinkSpec& spec) override {
    Result<Peer> peer = peer_of(peer_card);
    WEIR_TRY(peer.status());
    peer->where.credit = applies(limits_, *peer);
    return open_tcp_receiver(*door_, peer->where, settings_.budget, self_.uid, spec, counters_);
  }
  Result<HomeView> map(BytesView) override {
    return Status(Code::invalid_usage, "tcp cannot map the memory of a peer");
  }

 private:
  /// Whom a receiver limits.
  enum class Limits : uint32_t { nobody, other_hosts, everybody };
  struct Peer {
    TcpPeer where;
    Limits limits = Limits::nobody;
    uint64_t machine = 0;
  };

  static std::vector<tcp::Rail> own_rails(const Door& door) {
    const auto interfaces = list_interfaces();
    return tcp::rails_at(door.addresses(), interfaces.ok() ? *interfaces : std::vector<Interface>());
  }

  /// The owner of the card, if it can be reached from here.
  Result<Peer> peer_of(BytesView card) const {
    if (door_ == nullptr) return Status(Code::invalid_usage, "this process has no door");
    ByteReader reader(card);
    const Result<CardHead> head = read_card(reader, name(), kCardVersion);
    WEIR_TRY(head.status());
    const auto door = read_peer_door(reader, name(), *head, machine_);
    WEIR_TRY(door.status());
    const auto limits = reader.get<Limits>();
    std::vector<tcp::Rail> theirs;
    const auto count = reader.get<uint32_t>();
    for (uint32_t i = 0; reader.ok() && i < count && i < tcp::Rail::kMost; ++i)
      theirs.push_back(tcp::Rail::get(reader));
    if (!reader.ok() || count == 0 || count > tcp::Rail::kMost) return short_card(name(), head->rank);
    auto paths = tcp::paths_between(rails_, theirs, head->host == machine_);
    WEIR_TRY(paths.status());
    return Peer{{*door, std::move(*paths)}, limits, head->host};
  }

  /// Between this rank and `other`, whichever of them limits.
  bool applies(Limits limits, const Peer& other) const {
    return limits == Limits::everybody || (limits == Limits::other_hosts && other.machine != machine_);
  }

  const Identity self_;
  const uint64_t machine_;  ///< loopback joins hosts that NCCL_HOSTID only pretends to be apart
  Door* const door_;
  const TcpSettings settings_;
  const Limits limits_;
  const std::vector<tcp::Rail> rails_;
  PathUses uses_;
  tcp::Counters counters_;
};

}  // namespace

std::unique_ptr<Transport> make_tcp(const Identity& self, Door* door, const TcpSettings& settings) {
  return std::make_unique<Tcp>(self, door, settings);
}

}  // namespace weir
