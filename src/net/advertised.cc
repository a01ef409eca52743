// SPDX-License-Identifier: Apache-2.0

#include "src/net/advertised.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "src/base/host.h"

namespace weir {
namespace {

struct OwnAddresses {
  std::atomic<bool> any{false};  // most processes advertise nothing, and connect often
  std::mutex mutex;
  std::map<std::string, SocketAddress> by_advertised;
};

OwnAddresses& own_addresses() {
  static OwnAddresses* const addresses = new OwnAddresses;  // used by threads that outlive static destructors
  return *addresses;
}

bool same_host_address(const SocketAddress& a, const SocketAddress& b) {
  return a.family() == b.family() && std::ranges::equal(a.ip(), b.ip());
}

bool is_wildcard(const SocketAddress& address) {
  return same_host_address(address, SocketAddress::any(address.family()));
}

std::string_view without_spaces(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

/// Adds a port of 0 to an entry that has none: "[::1]", "::1", "10.0.0.1" or "name".
std::string with_port(std::string_view entry) {
  const bool bracketed = entry.starts_with('[');
  const auto colons = std::ranges::count(entry, ':');
  if (bracketed ? !entry.ends_with(']') : colons == 1) return std::string(entry);
  return !bracketed && colons > 1 ? fmt::format("[{}]:0", entry) : fmt::format("{}:0", entry);
}

Result<SocketAddress> read_entry(std::string_view text, std::string_view entry, const PortRange& ports) {
  const auto refuse = [&](std::string_view why) {
    return Status(
        Code::invalid_argument,
        fmt::format("WEIR_ADVERTISE={}: {}; expected an address at which other hosts reach this one "
                    "for each interface, like 203.0.113.7, or 203.0.113.7:7000 for the first port "
                    "of WEIR_PORTS",
                    text, why));
  };
  if (entry.empty()) return refuse("an address is empty");
  const std::string complete = with_port(entry);
  const auto address = SocketAddress::parse(complete);
  if (!address.ok()) return refuse(address.status().message());
  if (is_wildcard(*address)) return refuse(fmt::format("{} is no address of a host", entry));
  if (complete != entry) return *address;
  if (address->port() == 0) return refuse(fmt::format("{} has port 0", entry));
  if (ports.first == 0)
    return refuse(
        fmt::format("{} has a port, but WEIR_PORTS does not say at which ports this process listens", entry));
  if (address->port() + (ports.last - ports.first) > UINT16_MAX)
    return refuse(fmt::format("the {} ports of WEIR_PORTS={} from {} on end above {}",
                              ports.last - ports.first + 1, ports.text(), entry, UINT16_MAX));
  return *address;
}

/// Whether two interfaces of a process could be reached at one address and port.
bool collide(const SocketAddress& a, const SocketAddress& b, const PortRange& ports) {
  if (!same_host_address(a, b)) return false;
  if (a.port() == 0 || b.port() == 0) return true;
  return std::max(a.port(), b.port()) - std::min(a.port(), b.port()) <= ports.last - ports.first;
}

}  // namespace

Result<Advertisement> Advertisement::parse(std::string_view text, const PortRange& ports) {
  Advertisement all;
  all.ports_ = ports;
  for (std::string_view rest = text; !text.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const auto address = read_entry(text, without_spaces(rest.substr(0, comma)), ports);
    WEIR_TRY(address.status());
    for (const SocketAddress& other : all.addresses_) {
      if (collide(*address, other, ports))
        return Status(
            Code::invalid_argument,
            fmt::format("WEIR_ADVERTISE={} gives two interfaces the same address {}; expected another "
                        "address or other ports for each",
                        text, address->host_text()));
    }
    all.addresses_.push_back(*address);
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  return all;
}

SocketAddress Advertisement::of(size_t interface, const SocketAddress& own) const {
  if (interface >= addresses_.size()) return own;
  SocketAddress address = addresses_[interface];
  const bool moved = address.port() != 0 && own.port() >= ports_.first && own.port() <= ports_.last;
  address.set_port(moved ? static_cast<uint16_t>(address.port() + (own.port() - ports_.first)) : own.port());
  return address;
}

bool Advertisement::names(const SocketAddress& address) const {
  return std::ranges::any_of(addresses_,
                             [&](const SocketAddress& one) { return same_host_address(one, address); });
}

uint16_t Advertisement::own_port(const SocketAddress& at) const {
  for (const SocketAddress& address : addresses_) {
    if (!same_host_address(address, at) || address.port() == 0 || at.port() < address.port()) continue;
    const int distance = at.port() - address.port();
    if (distance <= ports_.last - ports_.first) return static_cast<uint16_t>(ports_.first + distance);
  }
  return at.port();
}

uint64_t network_identity() {
  struct stat space {};
  if (stat("/proc/self/ns/net", &space) != 0) return random_bits();  // unknown: like nobody's
  return hash_text(fmt::format("{:x}/{:x}/{:x}", kernel_identity(), space.st_dev, space.st_ino));
}

void note_own_address(const SocketAddress& advertised, const SocketAddress& own) {
  if (advertised == own) return;
  OwnAddresses& known = own_addresses();
  const std::lock_guard lock(known.mutex);
  known.by_advertised[advertised.text()] = own;
  known.any = true;
}

SocketAddress own_address_of(const SocketAddress& advertised) {
  OwnAddresses& known = own_addresses();
  if (!known.any) return advertised;
  const std::lock_guard lock(known.mutex);
  const auto at = known.by_advertised.find(advertised.text());
  return at == known.by_advertised.end() ? advertised : at->second;
}

}  // namespace weir
