// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/ports.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "src/base/printable.h"
#include "src/base/text.h"
#include "transports/rail_pairs.h"

namespace weir::verbs {
namespace {

using drivers::VerbsGid;
using drivers::VerbsPort;
using Address = std::array<uint8_t, 16>;

constexpr Address kMapped = {0, 0, 0, 0, 0,    0,
                             0, 0, 0, 0, 0xff, 0xff};  // followed by the four bytes of an IPv4 address
constexpr uint32_t kMappedBits = 96;

bool same_head(const Address& a, const Address& b, uint32_t bits) {
  if (std::memcmp(a.data(), b.data(), bits / 8) != 0) return false;
  const auto mask = static_cast<uint8_t>(0xff00u >> bits % 8);
  return bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) & mask) == 0;
}

bool is_ipv4(const Address& gid) { return same_head(gid, kMapped, kMappedBits); }
bool is_link_local(const Address& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

/// Value of NCCL_IB_ADDR_RANGE: "10.0.0.0/8", "fd00::/8".
struct Range {
  Address head{};
  uint32_t bits = 0;

  static std::optional<Range> parse(const std::string& text) {
    const size_t slash = text.find('/');
    if (slash == std::string::npos) return std::nullopt;
    Range range;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + slash + 1, end, range.bits);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    const std::string address = text.substr(0, slash);
    range.head = kMapped;
    if (inet_pton(AF_INET, address.c_str(), range.head.data() + 12) == 1) {
      range.bits += kMappedBits;
    } else if (inet_pton(AF_INET6, address.c_str(), range.head.data()) != 1) {
      return std::nullopt;
    }
    return range.bits <= 128 ? std::optional(range) : std::nullopt;
  }
};

std::string_view kind_text(VerbsGid::Kind kind) {
  switch (kind) {
    case VerbsGid::Kind::roce_v1: return "RoCE v1";
    case VerbsGid::Kind::roce_v2: return "RoCE v2";
    default: return "InfiniBand";
  }
}

std::string list_text(const VerbsPort& port) {
  std::string text;
  for (const VerbsGid& gid : port.gids) {
    text += fmt::format("{}{}: {} ({})", text.empty() ? "" : ", ", gid.index, gid_text(gid.bytes),
                        kind_text(gid.kind));
  }
  return text.empty() ? "no GIDs" : "the GIDs " + text;
}

/// Required properties of a GID on Ethernet.
struct GidFilter {
  VerbsGid::Kind kind = VerbsGid::Kind::roce_v2;
  int family = AF_UNSPEC;
  std::optional<Range> range;

  static Result<GidFilter> of(const Options& options) {
    GidFilter filter;
    if (options.ib_roce_version == 1) filter.kind = VerbsGid::Kind::roce_v1;
    if (equals_ignoring_case(options.ib_addr_family, "AF_INET")) filter.family = AF_INET;
    if (equals_ignoring_case(options.ib_addr_family, "AF_INET6")) filter.family = AF_INET6;
    if (filter.family == AF_UNSPEC && !options.ib_addr_family.empty()) {
      return Status(
          Code::invalid_argument,
          fmt::format("NCCL_IB_ADDR_FAMILY={} is not an address family; expected AF_INET or AF_INET6",
                      options.ib_addr_family));
    }
    if (options.ib_addr_range.empty()) return filter;
    filter.range = Range::parse(options.ib_addr_range);
    if (filter.range) return filter;
    return Status(
        Code::invalid_argument,
        fmt::format("NCCL_IB_ADDR_RANGE={} is not an address range; expected a range such as 10.0.0.0/8",
                    options.ib_addr_range));
  }
  bool allows(const VerbsGid& gid) const {
    if (gid.kind != kind) return false;
    if (family != AF_UNSPEC && (family == AF_INET) != is_ipv4(gid.bytes)) return false;
    return !range || same_head(gid.bytes, range->head, range->bits);
  }
  std::string text() const {
    return fmt::format("{}{}{}", kind_text(kind),
                       family == AF_INET    ? " with IPv4"
                       : family == AF_INET6 ? " with IPv6"
                                            : "",
                       range ? " in NCCL_IB_ADDR_RANGE" : "");
  }
};

/// Lower values are preferred.
int preference(const VerbsGid& gid) { return is_ipv4(gid.bytes) ? 0 : is_link_local(gid.bytes) ? 2 : 1; }

bool can_route(const PortAddress& a, const PortAddress& b) {
  return a.ethernet && b.ethernet && a.routable && b.routable && is_ipv4(a.gid) == is_ipv4(b.gid) &&
         !is_link_local(a.gid) && !is_link_local(b.gid);
}

bool same_network(const PortAddress& a, const PortAddress& b) {
  return a.ethernet == b.ethernet && a.network_bits != 0 && a.network_bits == b.network_bits &&
         same_head(a.gid, b.gid, a.network_bits);
}

}  // namespace

std::string gid_text(const Address& gid) {
  char text[INET6_ADDRSTRLEN] = {};
  const bool ipv4 = is_ipv4(gid);
  inet_ntop(ipv4 ? AF_INET : AF_INET6, gid.data() + (ipv4 ? 12 : 0), text, sizeof(text));
  return text;
}

Result<GidChoice> choose_gid(const VerbsPort& port, const Options& options) {
  const int asked = static_cast<int>(options.ib_gid_index);
  if (asked >= 0 || !port.ethernet) {
    const auto found = std::ranges::find(port.gids, std::max(asked, 0), &VerbsGid::index);
    if (found != port.gids.end())
      return GidChoice{*found, asked >= 0 ? "selected by NCCL_IB_GID_INDEX" : "the first GID of the port"};
    return Status(Code::invalid_argument, fmt::format("there is no GID {} (NCCL_IB_GID_INDEX); {} has {}",
                                                      std::max(asked, 0), port.name(), list_text(port)));
  }
  const Result<GidFilter> filter = GidFilter::of(options);
  WEIR_TRY(filter.status());
  const VerbsGid* best = nullptr;
  for (const VerbsGid& gid : port.gids) {
    if (filter->allows(gid) && (best == nullptr || preference(gid) < preference(*best))) best = &gid;
  }
  if (best == nullptr) {
    return Status(
        Code::invalid_argument,
        fmt::format("no GID of {} (NCCL_IB_ROCE_VERSION_NUM, NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE); {} "
                    "has {}",
                    filter->text(), port.name(), list_text(port)));
  }
  return GidChoice{*best, fmt::format("the first GID of {}{}", filter->text(),
                                      is_ipv4(best->bytes)         ? ", IPv4 preferred to IPv6"
                                      : is_link_local(best->bytes) ? ", link-local because there is no other"
                                                                   : "")};
}

bool passes_hca(const std::string& list, const VerbsPort& port) {
  std::string_view text = list;
  if (text.empty()) return true;
  const bool excludes = text.starts_with('^');
  if (excludes) text.remove_prefix(1);
  const bool exact = text.starts_with('=');
  if (exact) text.remove_prefix(1);
  const bool listed = std::ranges::any_of(split_list(text), [&](std::string_view entry) {
    const std::vector<std::string_view> parts = split_list(entry, ':');
    if (parts.empty() || (parts.size() > 1 && parts[1] != std::to_string(port.number))) return false;
    return exact ? port.device == parts[0] : port.device.starts_with(parts[0]);
  });
  return listed != excludes;
}

PortChoice choose_ports(std::vector<VerbsPort> found, const Options& options) {
  // Shorter names first (mlx5_2 before mlx5_10), so that all hosts have the same order.
  std::ranges::sort(found, [](const VerbsPort& a, const VerbsPort& b) {
    return std::tuple(a.device.size(), a.device, a.number) < std::tuple(b.device.size(), b.device, b.number);
  });
  PortChoice choice;
  for (VerbsPort& port : found) {
    if (!passes_hca(options.ib_hca, port)) {
      choice.left_out.push_back(fmt::format("{}: excluded by NCCL_IB_HCA={}", port.name(), options.ib_hca));
    } else if (!port.active) {
      choice.left_out.push_back(fmt::format("{}: the port is down", port.name()));
    } else if (auto gid = choose_gid(port, options); !gid.ok()) {
      choice.left_out.push_back(fmt::format("{}: {}", port.name(), gid.status().message()));
    } else {
      choice.used.push_back({std::move(port), std::move(*gid)});
    }
  }
  return choice;
}

void PortAddress::put(ByteWriter& writer) const {
  writer.put_string(name)
      .put(ethernet)
      .put(routable)
      .put(near)
      .put(lid)
      .put(mtu)
      .put(network_bits)
      .put(gigabits_per_s)
      .put(gid);
}

PortAddress PortAddress::get(ByteReader& reader) {
  PortAddress address;
  address.name = printable(reader.get_string(), kMostPrintedName);
  address.ethernet = reader.get<uint8_t>() != 0;
  address.routable = reader.get<uint8_t>() != 0;
  address.near = reader.get<uint8_t>() != 0;
  address.lid = reader.get<uint16_t>();
  address.mtu = reader.get<uint32_t>();
  address.network_bits = std::min<uint32_t>(reader.get<uint32_t>(), 128);
  address.gigabits_per_s = reader.get<double>();
  address.gid = reader.get<Address>();
  return address;
}

std::string PortAddress::text() const { return fmt::format("{} ({})", name, gid_text(gid)); }

uint32_t network_bits(const VerbsGid& gid) {
  if (gid.kind == VerbsGid::Kind::infiniband) return 64;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return 0;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, &freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_netmask == nullptr || gid.interface != entry->ifa_name)
      continue;
    Address mask{};
    Address address = kMapped;
    uint32_t bits = 0;
    if (entry->ifa_addr->sa_family == AF_INET) {
      std::memcpy(address.data() + 12, &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, 4);
      std::memcpy(mask.data(), &reinterpret_cast<const sockaddr_in*>(entry->ifa_netmask)->sin_addr, 4);
      bits = kMappedBits;
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr, 16);
      std::memcpy(mask.data(), &reinterpret_cast<const sockaddr_in6*>(entry->ifa_netmask)->sin6_addr, 16);
    }
    if (address != gid.bytes) continue;
    for (const uint8_t byte : mask) bits += static_cast<uint32_t>(std::popcount(byte));
    return bits;
  }
  return 0;
}

namespace {

/// The ports near the rank's GPU; all ports if none is near.
std::vector<size_t> near_ones(const std::vector<PortAddress>& ports) {
  std::vector<size_t> near, all;
  for (size_t i = 0; i < ports.size(); ++i) {
    all.push_back(i);
    if (ports[i].near) near.push_back(i);
  }
  return near.empty() ? all : near;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> port_pairs(const std::vector<PortAddress>& ours,
                                                  const std::vector<PortAddress>& theirs) {
  using Pairs = std::vector<std::pair<size_t, size_t>>;
  const auto joined = [&](size_t i, size_t j) { return same_network(ours[i], theirs[j]); };
  const auto never = [](size_t, size_t) { return false; };
  const std::vector<size_t> mine = near_ones(ours), others = near_ones(theirs);
  const auto among_near = [&](auto same, auto route) {
    Pairs pairs = pair_rails(
        mine.size(), others.size(), [&](size_t i, size_t j) { return same(mine[i], others[j]); },
        [&](size_t i, size_t j) { return route(mine[i], others[j]); });
    for (auto& [i, j] : pairs) i = mine[i], j = others[j];
    return pairs;
  };
  if (Pairs pairs = among_near(joined, never); !pairs.empty()) return pairs;
  if (Pairs pairs = pair_rails(ours.size(), theirs.size(), joined, never); !pairs.empty()) {
    const auto far = [&](const auto& pair) { return !ours[pair.first].near && !theirs[pair.second].near; };
    if (!std::ranges::all_of(pairs, far)) std::erase_if(pairs, far);
    return pairs;
  }
  const auto routed = [&](size_t i, size_t j) { return can_route(ours[i], theirs[j]); };
  if (Pairs pairs = among_near(never, routed); !pairs.empty()) return pairs;
  return pair_rails(ours.size(), theirs.size(), never, routed);
}

}  // namespace weir::verbs
