// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/link_speeds.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/net/interfaces.h"

namespace weir::core {
namespace {

/// Less in an interval says nothing of the speed: the kernel counts time in its ticks.
constexpr uint64_t kLeastBytes = 64 << 10;
constexpr uint64_t kLeastBusyUs = 10'000;
/// A look is followed by so much time as a multiple of its own.
constexpr int64_t kRest = 200;

/// What the connections to a peer have carried since the last look. They work side by side.
struct Carried {
  uint64_t bytes = 0;
  uint64_t busy_us = 0;
  std::vector<SocketAddress> from = {};

  bool counts() const { return bytes >= kLeastBytes && busy_us >= kLeastBusyUs; }
  double speed() const { return static_cast<double>(bytes) * 1e6 / static_cast<double>(busy_us); }
};

/// The interfaces with these addresses: "eth0, eth1".
std::string names_of(const std::vector<SocketAddress>& addresses) {
  const auto interfaces = list_interfaces();
  std::string out;
  if (!interfaces.ok()) return out;
  for (const Interface& one : *interfaces) {
    const bool carries = std::ranges::any_of(addresses, [&](const SocketAddress& address) {
      return std::ranges::equal(address.ip(), one.address.ip());
    });
    if (carries) out += (out.empty() ? "" : ", ") + one.name;
  }
  return out;
}

}  // namespace

LinkSpeeds::LinkSpeeds(Activity& activity, Rank self,
                       const std::vector<std::unique_ptr<Transport>>& transports)
    : activity_(activity), self_(self) {
  for (const auto& transport : transports) {
    const ConnectionSet* const connections = transport->traits().connections;
    if (connections != nullptr) networks_.push_back({std::string(transport->name()), connections, {}});
  }
  if (measures()) activity_.tell_links([this] { return speeds(); });
}

LinkSpeeds::~LinkSpeeds() {
  if (measures()) activity_.tell_links(nullptr);
}

void LinkSpeeds::look() {
  const int64_t begin = now_ns();
  if (begin < next_ns_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // a report is being made, and operations do not wait for that; it comes again soon
  const uint64_t mean = std::exchange(bytes_, 0) / (calls_ - looked_calls_);
  const SpeedRecord::Kind kind{static_cast<int>(std::bit_width(mean)), 0};
  looked_calls_ = calls_;
  for (Network& network : networks_) measure(network, kind);
  const int64_t end = now_ns();
  next_ns_ = end + std::max(kEveryNs, kRest * (end - begin));
}

void LinkSpeeds::measure(Network& network, const SpeedRecord::Kind& calls) {
  std::map<Rank, Carried> by_peer;
  Counted counted;
  for (const ConnectionSet::PeerUse& one : network.connections->use()) {
    counted.emplace(one.connection, one.use);
    const auto before = network.counted.find(one.connection);
    if (before == network.counted.end() || one.peer < 0) continue;
    Carried& carried = by_peer[one.peer];
    carried.from.push_back(one.from);
    carried.bytes += one.use.acknowledged_bytes - before->second.acknowledged_bytes;
    // What the kernel takes for waiting grows with a delay.
    const uint64_t was = before->second.busy_us;
    carried.busy_us = std::max(carried.busy_us, one.use.busy_us - std::min(was, one.use.busy_us));
  }
  network.counted = std::move(counted);
  SpeedRecord::Kind kind = calls;
  kind.sharers =
      static_cast<int>(std::ranges::count_if(by_peer, [](const auto& one) { return one.second.counts(); }));
  for (const auto& [peer, carried] : by_peer) {
    if (!carried.counts()) continue;
    const auto [at, is_new] = links_.try_emplace({network.name, peer});
    Link& link = at->second;
    if (is_new) link.over = names_of(carried.from);
    const SpeedRecord::Change change = link.record.add(kind, carried.speed(), looked_calls_);
    if (change == SpeedRecord::Change::none) continue;
    const std::string words = describe(speed_of(network.name, peer, link), self_);
    if (change == SpeedRecord::Change::slow)
      WEIR_WARN("{}: this link has become slower than it was", words);
    else
      WEIR_INFO(net, "{}: this link is as fast as it was before it became slow", words);
  }
}

LinkSpeed LinkSpeeds::speed_of(const std::string& transport, Rank peer, const Link& link) const {
  const SpeedRecord& record = link.record;
  return {peer,         transport, link.over, record.now(), record.past(), looked_calls_ - record.since(),
          record.slow()};
}

std::vector<LinkSpeed> LinkSpeeds::speeds() const {
  const std::lock_guard lock(mutex_);
  std::vector<LinkSpeed> out;
  for (const auto& [key, link] : links_)
    if (link.record.now() > 0) out.push_back(speed_of(key.first, key.second, link));
  return out;
}

}  // namespace weir::core
