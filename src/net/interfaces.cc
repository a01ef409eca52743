// SPDX-License-Identifier: Apache-2.0

#include "src/net/interfaces.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "src/base/shortage.h"
#include "src/base/text.h"

namespace weir {
namespace {

bool is_link_local(const SocketAddress& address) {
  return address.family() == AF_INET6 && address.ip()[0] == std::byte{0xfe} &&
         (address.ip()[1] & std::byte{0xc0}) == std::byte{0x80};
}

bool same_ip(const SocketAddress& a, const SocketAddress& b) {
  return a.family() == b.family() && std::ranges::equal(a.ip(), b.ip());
}

/// The parsed value of NCCL_SOCKET_IFNAME.
class NameFilter {
 public:
  explicit NameFilter(std::string_view text) {
    excludes_ = text.starts_with('^');
    if (excludes_) text.remove_prefix(1);
    exact_ = text.starts_with('=');
    if (exact_) text.remove_prefix(1);
    for (const std::string_view name : split_list(text)) names_.emplace_back(name);
  }
  bool passes(const std::string& name) const {
    const bool listed = std::ranges::any_of(
        names_, [&](const std::string& entry) { return exact_ ? name == entry : name.starts_with(entry); });
    return listed != excludes_;
  }
  /// Exact names that none of the interfaces has.
  std::vector<std::string> missing(const std::vector<Interface>& interfaces) const {
    std::vector<std::string> names;
    for (const std::string& name : names_) {
      const bool there = std::ranges::find(interfaces, name, &Interface::name) != interfaces.end();
      if (exact_ && !excludes_ && !there) names.push_back(name);
    }
    return names;
  }

 private:
  bool excludes_ = false;
  bool exact_ = false;
  std::vector<std::string> names_;
};

Result<int> read_family(const std::string& text) {
  if (text.empty()) return int{AF_UNSPEC};
  if (equals_ignoring_case(text, "AF_INET")) return int{AF_INET};
  if (equals_ignoring_case(text, "AF_INET6")) return int{AF_INET6};
  return Status(
      Code::invalid_argument,
      fmt::format("NCCL_SOCKET_FAMILY={} is not an address family; expected AF_INET or AF_INET6", text));
}

std::string family_text(int family) { return family == AF_INET ? "IPv4" : "IPv6"; }

std::string list_text(const std::vector<Interface>& interfaces) {
  std::string text;
  for (const Interface& entry : interfaces) {
    if (entry.running)
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", entry.name, entry.address.host_text());
  }
  return text.empty() ? "none" : text;
}

/// Ranks an interface by its name for the case that nothing else decides; lower is better.
int preference(const std::string& name) {
  constexpr std::array<std::string_view, 3> kLast = {"docker", "lo", "virbr"};
  if (name.starts_with("ib")) return 0;
  for (size_t i = 0; i < kLast.size(); ++i) {
    if (name.starts_with(kLast[i])) return static_cast<int>(i) + 2;
  }
  return 1;
}

uint32_t prefix_bits(const sockaddr* mask) {
  const auto address = SocketAddress::from(mask);
  uint32_t bits = 0;
  for (const std::byte byte : address ? address->ip() : BytesView())
    bits += static_cast<uint32_t>(std::popcount(std::to_integer<uint8_t>(byte)));
  return bits;
}

/// Adds what the kernel knows of the device behind an interface.
void describe_device(Interface& interface) {
  const std::filesystem::path folder = std::filesystem::path("/sys/class/net") / interface.name;
  std::error_code none;
  interface.hardware = std::filesystem::exists(folder / "device", none);
  std::ifstream(folder / "speed") >> interface.megabits_per_s;
  interface.megabits_per_s = std::max<int64_t>(interface.megabits_per_s, 0);  // -1: unknown speed
}

/// Says why an interface other than the first carries no data; empty if it does carry data.
std::string why_no_rail(const Interface& entry, const Interface& first, const InterfaceSelection& selection) {
  if (!entry.running) return "it has no carrier";
  if (!selection.names.empty() && !NameFilter(selection.names).passes(entry.name))
    return fmt::format("NCCL_SOCKET_IFNAME={} does not select it", selection.names);
  if (entry.address.family() != first.address.family() || is_link_local(entry.address))
    return fmt::format("it has no routable {} address, which it needs to carry data beside {}",
                       family_text(first.address.family()), first.name);
  if (entry.address.is_loopback() != first.address.is_loopback())
    return "exactly one of it and the first interface is a loopback interface";
  if (!selection.names.empty() && !selection.names.starts_with('^')) return {};
  if (preference(entry.name) != preference(first.name))
    return fmt::format("interfaces of its kind are used only if there are none like {}", first.name);
  if (!selection.names.empty()) return {};
  if (!first.hardware || !entry.hardware)
    return "only hardware devices carry data without being named; set NCCL_SOCKET_IFNAME to use it";
  if (entry.megabits_per_s != first.megabits_per_s)
    return fmt::format("its speed is {} Mbit/s, but that of {} is {}; set NCCL_SOCKET_IFNAME to use it",
                       entry.megabits_per_s, first.name, first.megabits_per_s);
  return {};
}

/// Adds a sentence for whatever the user has named and does not get, or gets otherwise than the names
/// suggest.
void add_doubts(InterfaceChoice& choice, const std::vector<Interface>& interfaces,
                const InterfaceSelection& selection) {
  const NameFilter filter(selection.names);
  const bool named = !selection.names.empty() && !selection.names.starts_with('^');
  for (const std::string& name : filter.missing(interfaces))
    choice.doubts.push_back(
        fmt::format("NCCL_SOCKET_IFNAME={} names {}, which this host does not have; its "
                    "running interfaces: {}",
                    selection.names, name, list_text(interfaces)));
  std::set<std::string> stopped;
  for (const Interface& entry : interfaces) {
    if (!entry.running && (entry == choice.interface || (named && filter.passes(entry.name))) &&
        stopped.insert(entry.name).second)
      choice.doubts.push_back(
          fmt::format("{} ({}), {}, has no carrier{}", entry.name, entry.address.host_text(),
                      entry == choice.interface ? choice.why : "which is named",
                      entry == choice.interface ? "; it is waited for" : ": it is not used"));
  }
  std::vector<const Interface*> used = {&choice.interface};
  for (const Interface& rail : choice.rails) {
    const auto twin = std::ranges::find_if(used, [&](const Interface* other) {
      const uint32_t bits = std::min(other->network_bits, rail.network_bits);
      return bits > 0 && same_network(other->address, rail.address, bits);
    });
    if (twin != used.end())
      choice.doubts.push_back(fmt::format(
          "{} ({}) and {} ({}) are in one network: unless rules for source addresses say otherwise "
          "(ip rule), the kernel sends everything through one of them; expected a network for each",
          (*twin)->name, (*twin)->address.host_text(), rail.name, rail.address.host_text()));
    used.push_back(&rail);
  }
}

/// Adds the other interfaces, as rails or as left out; each is represented by its first address of the
/// family.
InterfaceChoice with_rails(InterfaceChoice choice, const std::vector<Interface>& interfaces,
                           const InterfaceSelection& selection) {
  const Interface& first = choice.interface;
  std::set<std::string> seen = {first.name};
  for (const Interface& entry : interfaces) {
    if (!seen.insert(entry.name).second) continue;
    const auto fitting = std::ranges::find_if(interfaces, [&](const Interface& other) {
      return other.name == entry.name && other.address.family() == first.address.family();
    });
    const Interface& rail = fitting == interfaces.end() ? entry : *fitting;
    const std::string why_not = why_no_rail(rail, first, selection);
    if (why_not.empty()) {
      choice.rails.push_back(rail);
    } else {
      choice.left_out.push_back(fmt::format("{} ({}): {}", rail.name, rail.address.host_text(), why_not));
    }
  }
  add_doubts(choice, interfaces, selection);
  return choice;
}

/// The local address from which the kernel would connect to `to`; no packet is sent.
std::optional<SocketAddress> route_to(const SocketAddress& to) {
  const Socket probe(socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage raw;
  const socklen_t size = to.to_raw(raw);
  if (!probe.valid() || connect(probe.fd(), reinterpret_cast<sockaddr*>(&raw), size) != 0)
    return std::nullopt;
  auto local = probe.local_address();
  if (!local.ok()) return std::nullopt;
  return *local;
}

/// All interfaces that are up, also those without carrier.
Result<std::vector<Interface>> list_with_stopped() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return system_failure("cannot list the network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, &freeifaddrs);
  std::vector<Interface> interfaces;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0) continue;
    auto address = SocketAddress::from(entry->ifa_addr);
    if (!address) continue;
    address->set_port(0);
    Interface interface { .name = entry->ifa_name, .address = *address };
    interface.running = (entry->ifa_flags & IFF_RUNNING) != 0;
    interface.network_bits = prefix_bits(entry->ifa_netmask);
    describe_device(interface);
    interfaces.push_back(std::move(interface));
  }
  std::ranges::stable_sort(interfaces, {}, [](const Interface& entry) {
    return entry.address.family() == AF_INET ? 0 : is_link_local(entry.address) ? 2 : 1;
  });
  return interfaces;
}

}  // namespace

Result<std::vector<Interface>> list_interfaces() {
  auto interfaces = list_with_stopped();
  if (interfaces.ok()) std::erase_if(*interfaces, [](const Interface& entry) { return !entry.running; });
  return interfaces;
}

bool same_network(const SocketAddress& a, const SocketAddress& b, uint32_t bits) {
  if (a.family() != b.family() || !a.valid()) return false;
  for (size_t i = 0; i < a.ip().size() && bits > 0; ++i) {
    const uint32_t here = std::min(bits, 8u);
    const auto differ = std::to_integer<uint32_t>(a.ip()[i] ^ b.ip()[i]);
    if (differ >> (8 - here) != 0) return false;
    bits -= here;
  }
  return true;
}

Result<InterfaceChoice> choose_interface(const std::vector<Interface>& interfaces,
                                         const InterfaceSelection& selection,
                                         const std::optional<SocketAddress>& route) {
  auto family = read_family(selection.family);
  WEIR_TRY(family.status());
  const NameFilter filter(selection.names);
  const bool named = !selection.names.empty();
  std::vector<Interface> fitting;
  for (const Interface& entry : interfaces) {
    if (*family != AF_UNSPEC && entry.address.family() != *family) continue;
    if (named && !filter.passes(entry.name)) continue;
    fitting.push_back(entry);
  }
  if (fitting.empty()) {
    const std::string names = named ? fmt::format(" NCCL_SOCKET_IFNAME={}", selection.names) : "";
    const std::string want =
        *family == AF_UNSPEC ? "" : fmt::format(" NCCL_SOCKET_FAMILY={}", selection.family);
    return Status(Code::invalid_argument,
                  fmt::format("no running network interface matches{}{}; running interfaces: {}", names, want,
                              list_text(interfaces)));
  }
  // On the route, an interface without carrier is right, too: connections to the root are tried until it has
  // one.
  const auto reaching = std::ranges::find_if(
      fitting, [&](const Interface& entry) { return route && same_ip(entry.address, *route); });
  if (reaching != fitting.end()) {
    return with_rails(
        {*reaching, fmt::format("the route to the bootstrap root at {}", selection.reach->text())},
        interfaces, selection);
  }
  if (std::ranges::any_of(fitting, &Interface::running))
    std::erase_if(fitting, [](const Interface& entry) { return !entry.running; });
  if (named) {
    const auto first = selection.names.starts_with('^')
                           ? std::ranges::min_element(
                                 fitting, {}, [](const Interface& entry) { return preference(entry.name); })
                           : fitting.begin();
    return with_rails({*first, fmt::format("NCCL_SOCKET_IFNAME={}", selection.names)}, interfaces, selection);
  }
  const auto best =
      std::ranges::min_element(fitting, {}, [](const Interface& entry) { return preference(entry.name); });
  if (selection.reach && !selection.reach->is_loopback() && best->address.is_loopback())
    return Status(
        Code::system_error,
        fmt::format("this host has no way to the bootstrap root at {}: its running interfaces are {}; "
                    "expected an interface with a route to that address",
                    selection.reach->text(), list_text(interfaces)));
  return with_rails({*best, fmt::format("the preferred one of: {}", list_text(fitting))}, interfaces,
                    selection);
}

Result<InterfaceChoice> choose_interface(const InterfaceSelection& selection) {
  auto interfaces = list_with_stopped();
  WEIR_TRY(interfaces.status());
  return choose_interface(*interfaces, selection,
                          selection.reach ? route_to(*selection.reach) : std::nullopt);
}

}  // namespace weir
