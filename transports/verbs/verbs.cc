// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "src/base/host.h"
#include "src/drivers/rdma_counters.h"
#include "transports/address.h"
#include "transports/peer_listener.h"
#include "transports/slot_registrar.h"
#include "transports/verbs/channel.h"

namespace weir {
namespace {

using verbs::PortAddress;

constexpr uint32_t kVerbsAddressVersion = 4;
constexpr uint32_t kMostPorts = 1024;
constexpr uint32_t kInlineBytes = 256;
// Half a round trip of a small message between recent adapters.
constexpr double kVerbsLatencyUs = 3;

/// Owner of a transport address.
struct VerbsPeer {
  Rank rank = 0;
  SocketAddress listener;
  std::vector<PortAddress> ports;
};

verbs::QueuePairSettings settings_of(const Options& options) {
  verbs::QueuePairSettings settings;
  settings.per_rail = static_cast<uint32_t>(options.ib_qps_per_connection);
  settings.split = options.ib_split_data;
  settings.first_pause_ns = static_cast<int64_t>(options.path_timeout_s * 1e9);
  settings.pair.pkey_index = static_cast<uint16_t>(options.ib_pkey);
  settings.pair.traffic_class = static_cast<uint8_t>(options.ib_traffic_class);
  settings.pair.service_level = static_cast<uint8_t>(options.ib_service_level);
  settings.pair.timeout = static_cast<uint8_t>(options.ib_timeout);
  settings.pair.retries = static_cast<uint8_t>(options.ib_retry_count);
  settings.pair.inline_bytes = kInlineBytes;
  return settings;
}

std::string list_text(const std::vector<PortAddress>& ports) {
  std::string text;
  for (const PortAddress& port : ports) text += fmt::format("{}{}", text.empty() ? "" : ", ", port.text());
  return text;
}

class VerbsTransport final : public Transport, public SlotRegistrar {
 public:
  VerbsTransport(const Identity& self, Listener* listener, Result<std::unique_ptr<drivers::Verbs>> verbs,
                 const Options& options, const NearestPorts& nearest)
      : self_(self), machine_(host_identity("")), listener_(listener), settings_(settings_of(options)) {
    if (options.ib_disable) {
      no_rails_ = Status(Code::invalid_usage, "RDMA devices are disabled (NCCL_IB_DISABLE=1)");
    } else if (!verbs.ok()) {
      no_rails_ = verbs.status();
    } else {
      verbs_ = std::move(*verbs);
      auto rails = verbs::Rails::open(*verbs_, options, nearest);
      no_rails_ = rails.status();
      if (rails.ok()) rails_ = std::move(*rails);
    }
  }

  std::string_view name() const override { return "verbs"; }
  Traits traits() const override { return {}; }

  Bytes address() const override {
    if (listener_ == nullptr || rails_ == nullptr) return {};
    ByteWriter address = begin_address(name(), kVerbsAddressVersion, {self_.rank, machine_});
    const std::vector<PortAddress> ports = rails_->addresses();
    address.put(listener_->address()).put(static_cast<uint32_t>(ports.size()));
    for (const PortAddress& port : ports) port.put(address);
    return address.take();
  }

  Reach reach(BytesView peer_address) const override {
    const Result<VerbsPeer> owner = owner_of(peer_address);
    if (!owner.ok()) return {false, {}, owner.status().message()};
    const std::vector<PortAddress> ours = rails_->addresses();
    Cost cost{.latency_us = kVerbsLatencyUs, .gigabytes_per_s = 0, .shared = true};
    for (const auto& [mine, theirs] : port_pairs(ours, owner->ports)) {
      cost.gigabytes_per_s += std::min(ours[mine].gigabits_per_s, owner->ports[theirs].gigabits_per_s) / 8;
      ++cost.paths;
    }
    return {true, cost, {}};
  }

  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    const Result<VerbsPeer> owner = owner_of(peer_address);
    if (!owner.ok()) return owner.status();
    count_at_ports();
    // Adjacent queue pairs use different rails, since messages use the queue pairs round-robin.
    std::vector<verbs::QueuePairs::Place> places;
    const auto pairs = port_pairs(rails_->addresses(), owner->ports);
    for (uint32_t i = 0; i < settings_.per_rail; ++i) {
      for (const auto& [mine, theirs] : pairs) {
        if (places.size() < verbs::kMostQueuePairs) places.push_back({mine, static_cast<uint16_t>(theirs)});
      }
    }
    auto with = context(*owner, spec);
    WEIR_TRY(with.status());
    return open_verbs_sender(*with, std::move(places), spec);
  }

  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) override {
    const Result<VerbsPeer> owner = owner_of(peer_address);
    if (!owner.ok()) return owner.status();
    count_at_ports();
    auto with = context(*owner, spec);
    WEIR_TRY(with.status());
    return open_verbs_receiver(*with, *listener_, spec);
  }

  SlotRegistrar* slot_registrar() override { return this; }
  Status register_slots(SlotMemory& memory) override {
    WEIR_TRY(no_rails_);
    std::vector<drivers::VerbsDevice*> devices;
    for (size_t i = 0; i < rails_->size(); ++i) {
      WEIR_TRY(memory.allows((*rails_)[i].used.port.device));
      devices.push_back((*rails_)[i].device);
    }
    auto registered = verbs::RegisteredMemory::enroll(memory, devices);
    WEIR_TRY(registered.status());
    registered_.push_back(std::move(*registered));
    return {};
  }
  void deregister_slots(SlotMemory& memory) override {
    std::erase_if(registered_,
                  [&](const verbs::RegisteredMemory& registered) { return registered.is(memory); });
  }
  NetCounters counters() const override {
    NetCounters all = live_counters_.read();
    const drivers::RdmaCounts at_ports = ports_.read();
    all.retries = at_ports.retries;
    all.dropped = at_ports.dropped;
    return all;
  }

 private:
  /// Called when a channel is opened; transports without channels do not count.
  void count_at_ports() {
    std::vector<drivers::RdmaCounters::Port> ports;
    for (size_t i = 0; i < rails_->size(); ++i)
      ports.emplace_back((*rails_)[i].used.port.device, (*rails_)[i].used.port.number);
    ports_.begin(ports);
  }

  Result<verbs::ChannelContext> context(const VerbsPeer& owner, const LinkSpec& spec) {
    verbs::ChannelContext made{rails_.get(),      self_.uid, owner.listener,
                               self_.credentials, settings_, &live_counters_};
    if (spec.slot_memory == nullptr) return made;
    const size_t bytes = size_t{spec.slots} * spec.slot_bytes;
    for (const verbs::RegisteredMemory& registered : registered_)
      if (registered.has(spec.slot_memory, bytes)) made.registered = &registered;
    if (made.registered != nullptr && spec.slot_bytes % 64 == 0) return made;
    return Status(Code::invalid_argument,
                  fmt::format("{} slots of {} bytes at {} are not in memory that was registered with verbs",
                              spec.slots, spec.slot_bytes, static_cast<void*>(spec.slot_memory)));
  }

  /// The owner of the transport address, if both ranks have ports in a common network.
  Result<VerbsPeer> owner_of(BytesView address) const {
    WEIR_TRY(no_rails_);
    if (listener_ == nullptr)
      return Status(Code::invalid_usage, "this process does not listen on any address");
    if (address.empty())
      return Status(Code::invalid_usage, "the peer has no usable RDMA port; its log gives the reason");
    ByteReader reader(address);
    const Result<AddressHead> head = read_address(reader, name(), kVerbsAddressVersion);
    if (!head.ok()) return head.status();
    const auto listener = read_peer_listener(reader, name(), *head, machine_);
    WEIR_TRY(listener.status());
    VerbsPeer owner{head->rank, *listener, {}};
    const size_t count = reader.count(sizeof(verbs::PortAddress::gid));
    for (size_t i = 0; reader.ok() && i < count && i < kMostPorts; ++i)
      owner.ports.push_back(PortAddress::get(reader));
    if (!reader.ok() || count == 0 || count > kMostPorts) return short_address(name(), head->rank);
    const std::vector<PortAddress> ours = rails_->addresses();
    if (!port_pairs(ours, owner.ports).empty()) return owner;
    return Status(
        Code::invalid_usage,
        fmt::format("the RDMA ports of rank {}, {}, share no network with the ports of this rank, {}",
                    head->rank, list_text(owner.ports), list_text(ours)));
  }

  const Identity self_;
  const uint64_t machine_;  ///< real machine: loopback connects hosts that NCCL_HOSTID only simulates
  Listener* const listener_;
  const verbs::QueuePairSettings settings_;
  std::unique_ptr<drivers::Verbs> verbs_;
  std::unique_ptr<verbs::Rails> rails_;
  std::list<verbs::RegisteredMemory> registered_;  ///< its regions are destroyed before the devices
  Status no_rails_;
  LiveNetCounters live_counters_;
  drivers::RdmaCounters ports_{drivers::files_below("")};
};

}  // namespace

std::unique_ptr<Transport> make_verbs(const Identity& self, Listener* listener,
                                      Result<std::unique_ptr<drivers::Verbs>> verbs, const Options& options,
                                      const NearestPorts& nearest) {
  return std::make_unique<VerbsTransport>(self, listener, std::move(verbs), options, nearest);
}

}  // namespace weir
