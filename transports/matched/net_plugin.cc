// SPDX-License-Identifier: Apache-2.0

#include "transports/matched/net_plugin.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/host.h"
#include "src/base/printable.h"
#include "transports/address.h"
#include "transports/matched/channel.h"
#include "transports/peer_listener.h"

namespace weir {
namespace {

constexpr uint32_t kPluginAddressVersion = 2;
constexpr uint32_t kPurpose = 3u << 29;
constexpr uint32_t kMostRails = 1024;
constexpr double kPluginLatencyUs = 10;  // default if the plugin reports no latency

/// Owner of a transport address.
struct PluginPeer {
  Rank rank = 0;
  SocketAddress listener;
  std::string network;
  int32_t version = 0;                 ///< of NCCL's interface
  std::vector<double> gigabits_per_s;  ///< speed of each rail; Gbit/s
  double latency_us = 0;
};

double latency_of(const drivers::NetPlugin& plugin) {
  double most = 0;
  for (size_t i = 0; i < plugin.rails(); ++i) most = std::max(most, plugin.rail(i).latency_us);
  return most > 0 ? most : kPluginLatencyUs;
}

class NetPluginTransport final : public Transport {
 public:
  NetPluginTransport(const Identity& self, Listener* listener,
                     Result<std::unique_ptr<drivers::NetPlugin>> plugin)
      : self_(self), machine_(host_identity("")), listener_(listener), no_plugin_(plugin.status()) {
    if (plugin.ok()) plugin_ = std::move(*plugin);
  }

  std::string_view name() const override { return "net_plugin"; }
  Traits traits() const override { return {}; }

  Bytes address() const override {
    if (listener_ == nullptr || plugin_ == nullptr) return {};
    ByteWriter address = begin_address(name(), kPluginAddressVersion, {self_.rank, machine_});
    address.put(listener_->address()).put_string(plugin_->network());
    address.put(int32_t{plugin_->version()}).put(latency_of(*plugin_));
    address.put(static_cast<uint32_t>(plugin_->rails()));
    for (size_t i = 0; i < plugin_->rails(); ++i) address.put(plugin_->rail(i).gigabits_per_s);
    return address.take();
  }

  Reach reach(BytesView peer_address) const override {
    const Result<PluginPeer> owner = owner_of(peer_address);
    if (!owner.ok()) return {false, {}, owner.status().message()};
    Cost cost{.latency_us = std::max(latency_of(*plugin_), owner->latency_us),
              .gigabytes_per_s = 0,
              .shared = true};
    for (size_t i = 0; i < std::min(plugin_->rails(), owner->gigabits_per_s.size()); ++i)
      cost.gigabytes_per_s += std::min(plugin_->rail(i).gigabits_per_s, owner->gigabits_per_s[i]) / 8;
    return {true, cost, {}};
  }

  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    const Result<PluginPeer> owner = owner_of(peer_address);
    if (!owner.ok()) return owner.status();
    // Channels with fewer connections than rails start at different rails.
    const size_t rails = std::min(plugin_->rails(), owner->gigabits_per_s.size());
    const size_t wanted = std::min<size_t>({rails, matched::kMostConnections, std::max(spec.slots, 1u)});
    std::vector<matched::RailPair> pairs;
    for (size_t i = 0; i < wanted; ++i) {
      const auto rail = static_cast<uint32_t>((spec.channel * wanted + i) % rails);
      pairs.push_back({rail, rail});
    }
    return open_matched_sender(context(*owner), std::move(pairs), spec);
  }

  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) override {
    const Result<PluginPeer> owner = owner_of(peer_address);
    if (!owner.ok()) return owner.status();
    return open_matched_receiver(context(*owner), *listener_, spec);
  }

  NetCounters counters() const override { return live_counters_.read(); }

 private:
  matched::ChannelContext context(const PluginPeer& owner) {
    return {name(), kPurpose,       plugin_.get(), &engine_, self_.uid, owner.listener, self_.credentials,
            {},     &live_counters_};
  }

  /// The owner of the transport address, if its plugin is for the same network as the local one.
  Result<PluginPeer> owner_of(BytesView address) const {
    WEIR_TRY(no_plugin_);
    if (listener_ == nullptr)
      return Status(Code::invalid_usage, "this process does not listen on any address");
    if (address.empty())
      return Status(Code::invalid_usage, "the peer has no usable net plugin; its log gives the reason");
    ByteReader reader(address);
    const Result<AddressHead> head = read_address(reader, name(), kPluginAddressVersion);
    if (!head.ok()) return head.status();
    const auto listener = read_peer_listener(reader, name(), *head, machine_);
    WEIR_TRY(listener.status());
    PluginPeer owner{.rank = head->rank,
                     .listener = *listener,
                     .network = {},
                     .version = 0,
                     .gigabits_per_s = {},
                     .latency_us = 0};
    owner.network = printable(reader.get_string(), kMostPrintedName);
    owner.version = reader.get<int32_t>();
    owner.latency_us = reader.get<double>();
    const size_t count = reader.count(sizeof(double));
    for (size_t i = 0; i < count && i < kMostRails; ++i) owner.gigabits_per_s.push_back(reader.get<double>());
    if (!reader.ok() || count == 0 || count > kMostRails) return short_address(name(), head->rank);
    if (owner.network == plugin_->network() && owner.version == plugin_->version()) return owner;
    if (owner.network == plugin_->network())
      return Status(
          Code::invalid_usage,
          fmt::format("rank {} has version {} of the net plugin for \"{}\", this rank has version {}; "
                      "expected the same on all ranks (NCCL_NET_PLUGIN)",
                      head->rank, owner.version, owner.network, plugin_->version()));
    return Status(
        Code::invalid_usage,
        fmt::format(
            "rank {} has a net plugin for the network \"{}\", but the plugin of this rank is for \"{}\"",
            head->rank, owner.network, plugin_->network()));
  }

  const Identity self_;
  const uint64_t machine_;  ///< real machine: loopback connects hosts that NCCL_HOSTID only simulates
  Listener* const listener_;
  const Status no_plugin_;
  std::unique_ptr<drivers::NetPlugin> plugin_;
  LiveNetCounters live_counters_;
  matched::MatchedEngine engine_;
};

}  // namespace

std::unique_ptr<Transport> make_net_plugin(const Identity& self, Listener* listener,
                                           Result<std::unique_ptr<drivers::NetPlugin>> plugin) {
  return std::make_unique<NetPluginTransport>(self, listener, std::move(plugin));
}

}  // namespace weir
