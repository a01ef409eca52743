// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/tcp.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "src/base/host.h"
#include "src/net/advertised.h"
#include "src/net/interface_drops.h"
#include "transports/address.h"
#include "transports/peer_listener.h"
#include "transports/tcp/channel.h"
#include "transports/tcp/wire.h"

namespace weir {
namespace {

constexpr uint32_t kTcpAddressVersion = 5;
// Estimate for loopback; the speed of a network is unknown here. All channels share the NIC or, on loopback,
// the core that copies.
constexpr Cost kTcpCost = {.latency_us = 12, .gigabytes_per_s = 3, .shared = true};
// If several senders share the credit they wait for it: 1 / 0.75, measured (docs/performance.md).
constexpr double kMerging = 1.0 / 3;
constexpr double kUnasked = 16 << 10;

class Tcp final : public Transport {
 public:
  Tcp(const Identity& self, Listener* listener, const TcpSettings& settings)
      : self_(self),
        machine_(host_identity("")),
        listener_(listener),
        settings_(settings),
        limits_(settings.budget == nullptr       ? Limits::nobody
                : settings.budget_for_local_host ? Limits::everybody
                                                 : Limits::other_hosts),
        rails_(listener == nullptr ? std::vector<tcp::Rail>() : own_rails(*listener)) {}

  std::string_view name() const override { return "tcp"; }
  Traits traits() const override {
    return {.events = &shared_.events, .connections = &shared_.counters.connections};
  }
  Bytes address() const override {
    if (listener_ == nullptr) return {};
    ByteWriter address = begin_address(name(), kTcpAddressVersion, {self_.rank, machine_});
    address.put(listener_->address()).put(limits_).put(static_cast<uint32_t>(rails_.size()));
    for (const tcp::Rail& rail : rails_) rail.put(address);
    return address.take();
  }
  Reach reach(BytesView peer_address) const override {
    const Bytes way = way_to(peer_address);
    if (const auto known = reached_.find(way); known != reached_.end()) return {true, known->second, {}};
    const Result<Peer> peer = peer_of(peer_address);
    if (!peer.ok()) return {false, {}, peer.status().message()};
    Cost cost = kTcpCost;
    cost.paths = static_cast<uint32_t>(std::ranges::count(peer->where.paths, true, &tcp::RailPath::running));
    if (applies(limits_, *peer)) {
      cost.merging = kMerging;
      cost.unasked = kUnasked;
    }
    reached_.emplace(way, cost);
    return {true, cost, {}};
  }
  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    Result<Peer> peer = peer_of(peer_address);
    WEIR_TRY(peer.status());
    peer->where.credit = applies(peer->limits, *peer);
    count_faults();
    const auto paths = static_cast<uint32_t>(peer->where.paths.size());
    const uint32_t streams =
        settings_.streams == 0 ? std::max(rails_.front().streams(), paths) : settings_.streams;
    const auto ns = [](double seconds) { return static_cast<int64_t>(seconds * 1e9); };
    const double pause_s = settings_.first_pause_s > 0 ? settings_.first_pause_s : settings_.path_timeout_s;
    return open_tcp_sender(std::move(peer->where), self_.uid, std::min(streams, tcp::kMostStreams),
                           {ns(settings_.path_timeout_s), ns(pause_s)}, spec,
                           settings_.spreads ? &uses_ : nullptr, shared_);
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) override {
    Result<Peer> peer = peer_of(peer_address);
    WEIR_TRY(peer.status());
    peer->where.credit = applies(limits_, *peer);
    count_faults();
    return open_tcp_receiver(*listener_, peer->where, settings_.budget, self_.uid, spec, shared_);
  }
  NetCounters counters() const override {
    NetCounters all = shared_.counters.read();
    const std::optional<InterfaceFaults> before = faults_before();
    const std::optional<InterfaceFaults> now = before ? faults_now() : std::nullopt;
    if (!now) return all;
    if (now->dropped > before->dropped) all.dropped = now->dropped - before->dropped;
    if (now->damaged > before->damaged) all.damaged = now->damaged - before->damaged;
    return all;
  }

 private:
  /// The senders whose bytes in flight a receiver limits.
  enum class Limits : uint32_t { nobody, other_hosts, everybody };
  struct Peer {
    TcpPeer where;
    Limits limits = Limits::nobody;
    uint64_t machine = 0;
  };

  /// All in a transport address that routes depend on: the same for all ranks of a host with the same rails.
  Bytes way_to(BytesView address) const {
    ByteReader reader(address);
    const Result<AddressHead> head = read_address(reader, name(), kTcpAddressVersion);
    if (!head.ok()) return {};
    const auto put_without_port = [](ByteWriter& to, SocketAddress socket_address) {
      socket_address.set_port(0);
      to.put(socket_address);
    };
    ByteWriter way;
    way.put(head->host);
    put_without_port(way, reader.get<SocketAddress>());
    way.put(reader.get<Limits>());
    const size_t count = reader.count(sizeof(SocketAddress));
    way.put(count);
    for (size_t i = 0; reader.ok() && i < count; ++i) {
      way.put_string(reader.get_string());
      put_without_port(way, reader.get<SocketAddress>());
      way.put(reader.get<uint32_t>()).put(reader.get<bool>());
    }
    return way.take();
  }

  static std::vector<tcp::Rail> own_rails(const Listener& listener) {
    const auto interfaces = list_interfaces();
    return tcp::rails_at(listener.addresses(), interfaces.ok() ? *interfaces : std::vector<Interface>());
  }

  /// The owner of the transport address, if this process can reach it.
  Result<Peer> peer_of(BytesView address) const {
    if (listener_ == nullptr)
      return Status(Code::invalid_usage, "this process does not listen on any address");
    ByteReader reader(address);
    const Result<AddressHead> head = read_address(reader, name(), kTcpAddressVersion);
    WEIR_TRY(head.status());
    const auto listener = read_peer_listener(reader, name(), *head, machine_);
    WEIR_TRY(listener.status());
    const auto limits = reader.get<Limits>();
    std::vector<tcp::Rail> theirs;
    const size_t count = reader.count(sizeof(SocketAddress));
    for (size_t i = 0; reader.ok() && i < count && i < tcp::Rail::kMost; ++i)
      theirs.push_back(tcp::Rail::get(reader));
    if (!reader.ok() || count == 0 || count > tcp::Rail::kMost) return short_address(name(), head->rank);
    // A listener of this network namespace is reached by one address, whatever is advertised of it.
    const SocketAddress here = own_address_of(*listener);
    if (here != *listener) theirs = {{.name = {}, .listener = here}};
    auto paths = tcp::paths_between(rails_, theirs, head->host == machine_);
    WEIR_TRY(paths.status());
    return Peer{{*listener, std::move(*paths), false, self_.credentials}, limits, head->host};
  }

  /// What the interfaces of the rails have counted; nullopt if the kernel does not report it.
  std::optional<InterfaceFaults> faults_now() const {
    std::set<std::string> names;
    for (const tcp::Rail& rail : rails_) names.insert(rail.name);
    const auto faults = interface_faults(names);
    return faults.ok() ? std::optional(*faults) : std::nullopt;
  }
  std::optional<InterfaceFaults> faults_before() const {
    const std::lock_guard lock(faults_mutex_);
    return faults_before_;
  }
  /// Called when a channel is opened; transports without channels do not count.
  void count_faults() {
    if (faults_before()) return;
    const auto now = faults_now();
    const std::lock_guard lock(faults_mutex_);
    faults_before_ = now;
  }

  /// Whether either this rank or `other` limits what it receives from the other one.
  bool applies(Limits limits, const Peer& other) const {
    return limits == Limits::everybody || (limits == Limits::other_hosts && other.machine != machine_);
  }

  const Identity self_;
  const uint64_t machine_;  ///< real machine: loopback connects hosts that NCCL_HOSTID only simulates
  Listener* const listener_;
  const TcpSettings settings_;
  const Limits limits_;
  const std::vector<tcp::Rail> rails_;
  /// The results of reach() by way_to(): each takes system calls, and a host may have a thousand ranks.
  mutable std::map<Bytes, Cost> reached_;
  PathUses uses_;
  tcp::Shared shared_;
  mutable std::mutex faults_mutex_;
  std::optional<InterfaceFaults> faults_before_;  ///< when the first channel was opened
};

}  // namespace

std::unique_ptr<Transport> make_tcp(const Identity& self, Listener* listener, const TcpSettings& settings) {
  return std::make_unique<Tcp>(self, listener, settings);
}

}  // namespace weir
