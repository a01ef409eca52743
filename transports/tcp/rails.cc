// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/rails.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/printable.h"
#include "src/net/advertised.h"
#include "transports/peer_listener.h"
#include "transports/rail_pairs.h"

namespace weir::tcp {
namespace {

constexpr uint32_t kMostBits = 128;

/// Bridges of containers often have the same address on all hosts.
bool may_join(const Rail& a, const Rail& b, bool same_machine) {
  const bool same_address = std::ranges::equal(a.listener.ip(), b.listener.ip());
  return a.listener.family() == b.listener.family() && a.listener.is_loopback() == b.listener.is_loopback() &&
         (same_machine || !same_address);
}

/// Symmetric, so that both ends agree on common networks.
bool neighbours(const Rail& a, const Rail& b) {
  const uint32_t bits = std::max(a.network_bits, b.network_bits);
  return bits > 0 && same_network(a.listener, b.listener, bits);
}

}  // namespace

void Rail::put(ByteWriter& writer) const {
  writer.put_string(name).put(listener).put(network_bits).put(running);
}

Rail Rail::get(ByteReader& reader) {
  Rail rail;
  rail.name = printable(reader.get_string(), kMostPrintedName);
  rail.listener = reader.get<SocketAddress>();
  rail.network_bits = std::min(reader.get<uint32_t>(), kMostBits);
  rail.running = reader.get<bool>();
  return rail;
}

uint32_t Rail::streams() const {
  constexpr int64_t kPerStream = 10'000, kMostStreams = 8;
  if (megabits_per_s <= 0) return 2;
  return static_cast<uint32_t>(
      std::clamp((megabits_per_s + kPerStream - 1) / kPerStream, int64_t{1}, kMostStreams));
}

std::string Rail::text() const {
  return name.empty() ? listener.host_text() : fmt::format("{} ({})", name, listener.host_text());
}

std::vector<Rail> rails_at(const std::vector<SocketAddress>& addresses,
                           const std::vector<Interface>& interfaces) {
  std::vector<Rail> rails;
  for (const SocketAddress& address : addresses) {
    Rail rail{.name = {}, .listener = address};
    const SocketAddress own = own_address_of(address);
    for (const Interface& entry : interfaces) {
      // The loopback network has more addresses than the interfaces list.
      if (entry.network_bits <= rail.network_bits || !same_network(entry.address, own, entry.network_bits))
        continue;
      rail.name = entry.name;
      rail.network_bits = entry.network_bits;
      rail.megabits_per_s = entry.megabits_per_s;
      rail.running = entry.running;
    }
    if (!std::ranges::equal(own.ip(), address.ip())) rail.network_bits = 0;  // it is in a network of routers
    rails.push_back(std::move(rail));
  }
  return rails;
}

Result<std::vector<RailPath>> paths_between(const std::vector<Rail>& ours, const std::vector<Rail>& theirs,
                                            bool same_machine) {
  const auto pairs = pair_rails(
      ours.size(), theirs.size(),
      [&](size_t i, size_t j) {
        return may_join(ours[i], theirs[j], same_machine) && neighbours(ours[i], theirs[j]);
      },
      [&](size_t i, size_t j) { return may_join(ours[i], theirs[j], same_machine); });
  std::vector<RailPath> paths;
  for (const auto& [i, j] : pairs) {
    SocketAddress from = own_address_of(ours[i].listener);
    from.set_port(0);
    if (!check_route(theirs[j].listener, from).ok()) continue;
    paths.push_back({theirs[j].listener, from, fmt::format("{} to {}", ours[i].text(), theirs[j].text()),
                     ours[i].running && theirs[j].running});
  }
  if (paths.empty()) {
    WEIR_TRY(check_route(theirs.front().listener));
    paths.push_back(
        {theirs.front().listener, {}, fmt::format("this host to {}", theirs.front().text()), true});
  }
  if (paths.size() == 1) paths[0].from.reset();
  return paths;
}

}  // namespace weir::tcp
