// SPDX-License-Identifier: Apache-2.0

#include "src/net/path_choice.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/clock.h"

namespace weir {
namespace {

constexpr int kHops = 2;                  // TTL of probes: a SYN passes only the first router
constexpr int kProbes = 8;                // probes sent at a time: routers answer only a few in a row
constexpr int kRounds = 2;                // rounds of kProbes, while no port leads to the least used path
constexpr int64_t kFirstNs = 20'000'000;  // time limit for the first answer
constexpr int64_t kMoreNs = 1'000'000;    // time limit for later answers, plus 8 times the first delay
constexpr uint8_t kTimeExceeded4 = 11;    // ICMP type
constexpr uint8_t kTimeExceeded6 = 3;     // ICMPv6 type

void set_option(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

/// Sets the TTL of packets; -1 restores the system's default.
void set_hops(const Socket& socket, int family, int hops) {
  if (family == AF_INET)
    set_option(socket.fd(), IPPROTO_IP, IP_TTL, hops);
  else
    set_option(socket.fd(), IPPROTO_IPV6, IPV6_UNICAST_HOPS, hops);
}

void report_errors(const Socket& socket, int family) {
  if (family == AF_INET)
    set_option(socket.fd(), IPPROTO_IP, IP_RECVERR, 1);
  else
    set_option(socket.fd(), IPPROTO_IPV6, IPV6_RECVERR, 1);
}

/// The router that reported an expired TTL (ICMP time exceeded), if one did.
std::optional<SocketAddress> expired_at(const Socket& socket) {
  char data[256];
  alignas(cmsghdr) char control[512];
  iovec part{data, sizeof data};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket.fd(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return std::nullopt;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    const bool ours = (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_RECVERR) ||
                      (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_RECVERR);
    if (!ours) continue;
    const auto* error = reinterpret_cast<const sock_extended_err*>(CMSG_DATA(header));
    const bool exceeded = (error->ee_origin == SO_EE_ORIGIN_ICMP && error->ee_type == kTimeExceeded4) ||
                          (error->ee_origin == SO_EE_ORIGIN_ICMP6 && error->ee_type == kTimeExceeded6);
    if (exceeded) return SocketAddress::from(SO_EE_OFFENDER(error));
  }
  return std::nullopt;
}

std::string key(const SocketAddress& address) {
  return {reinterpret_cast<const char*>(address.ip().data()), address.ip().size()};
}

std::string key(const PathUses::Ends& ends) { return key(ends.to) + (ends.from ? key(*ends.from) : ""); }

/// Orders two IP addresses of the same family.
int compare(const SocketAddress& a, const SocketAddress& b) {
  return std::memcmp(a.ip().data(), b.ip().data(), std::min(a.ip().size(), b.ip().size()));
}
bool same(const SocketAddress& a, const SocketAddress& b) { return compare(a, b) == 0; }
bool comes_before(const SocketAddress& a, const SocketAddress& b) { return compare(a, b) < 0; }

}  // namespace

void PathUses::learn(const Ends& ends, std::span<const Port> ports) {
  std::lock_guard lock(mutex_);
  Way& way = ways_[key(ends)];
  for (const Port& port : ports) {
    way.ports.push_back(port);
    const auto place = std::lower_bound(way.routers.begin(), way.routers.end(), port.router, comes_before);
    if (place == way.routers.end() || !same(port.router, *place)) way.routers.insert(place, port.router);
  }
}

std::optional<PathUses::Port> PathUses::take(const Ends& ends, uint32_t first, bool any) {
  std::lock_guard lock(mutex_);
  Way& way = ways_[key(ends)];
  const auto port_to = [&](const SocketAddress& router) {
    return std::ranges::find_if(way.ports, [&](const Port& port) { return same(port.router, router); });
  };
  const SocketAddress* least = nullptr;
  for (size_t i = 0; i < way.routers.size(); ++i) {
    const SocketAddress& router = way.routers[(first + i) % way.routers.size()];
    if (any && port_to(router) == way.ports.end()) continue;
    if (least == nullptr || uses_[key(router)] < uses_[key(*least)]) least = &router;
  }
  const auto port = least == nullptr ? way.ports.end() : port_to(*least);
  if (port == way.ports.end()) return std::nullopt;
  const Port taken = *port;
  way.ports.erase(port);
  ++uses_[key(taken.router)];
  return taken;
}

void PathUses::give_up(const Ends& ends) {
  std::lock_guard lock(mutex_);
  ways_[key(ends)].silent = true;
}

bool PathUses::given_up(const Ends& ends) const {
  std::lock_guard lock(mutex_);
  const auto way = ways_.find(key(ends));
  return way != ways_.end() && way->second.silent;
}

Result<std::optional<Socket>> PathChoice::advance() {
  if (rounds_ == 0) {
    if (uses_.given_up(ends_)) return connect();
    if (const auto port = uses_.take(ends_, first_, false)) {
      router_ = port->router;
      found_ = {*port};
      return connect();
    }
    WEIR_TRY(probe(1));
  }
  return look();
}

/// Sends `count` SYNs, each from its own port.
Status PathChoice::probe(int count) {
  ++rounds_;
  begun_ns_ = now_ns();
  until_ns_ = begun_ns_ + kFirstNs;
  for (int i = 0; i < count; ++i) {
    auto socket = Socket::bound(own());
    WEIR_TRY(socket.status());
    const auto local = socket->local_address();
    WEIR_TRY(local.status());
    report_errors(*socket, ends_.to.family());
    set_hops(*socket, ends_.to.family(), kHops);
    WEIR_TRY(socket->begin_connect(ends_.to));
    probes_.push_back({std::move(*socket), local->port()});
  }
  return {};
}

/// Collects the results of the probes; gives the connection once it is chosen.
Result<std::optional<Socket>> PathChoice::look() {
  for (size_t i = 0; i < probes_.size();) {
    Probe& each = probes_[i];
    pollfd entry{each.socket.fd(), POLLOUT, 0};
    if (poll(&entry, 1, 0) <= 0) {
      ++i;
      continue;
    }
    if (const auto router = expired_at(each.socket)) {
      found_.push_back({each.port, *router});
      until_ns_ = std::min(until_ns_, now_ns() + kMoreNs + 8 * (now_ns() - begun_ns_));
    } else if (found_.empty() && rounds_ == 1) {  // the peer itself answered: it is near or refuses
      const auto connected = each.socket.connected();
      if (connected.status().code() == Code::remote_error) return connected.status();
      uses_.give_up(ends_);
      if (!connected.ok())
        return connect();  // a router's error for a probe need not apply to a normal packet
      set_hops(each.socket, ends_.to.family(), -1);
      return std::optional<Socket>(std::move(each.socket));
    }
    probes_.erase(probes_.begin() + static_cast<ptrdiff_t>(i));
  }
  if (!probes_.empty() && now_ns() < until_ns_) return std::optional<Socket>();
  probes_.clear();
  if (found_.empty() && rounds_ == 1) {
    uses_.give_up(ends_);
    return connect();
  }
  uses_.learn(ends_, found_);
  found_.clear();
  const bool last = rounds_ > kRounds;
  const auto port = rounds_ == 1 ? std::nullopt : uses_.take(ends_, first_, last);
  if (!port && !last) {
    WEIR_TRY(probe(kProbes));
    return std::optional<Socket>();
  }
  if (port) {
    router_ = port->router;
    found_ = {*port};
  }
  return connect();
}

/// Connects from the port that was found, or from any port if that one is in use meanwhile.
Result<std::optional<Socket>> PathChoice::connect() {
  SocketAddress from = own();
  if (!found_.empty()) {
    from.set_port(found_[0].number);
    auto socket = Socket::bound(from);
    if (socket.ok() && socket->begin_connect(ends_.to).ok()) return std::optional<Socket>(std::move(*socket));
    router_.reset();
  }
  auto socket = Socket::bound(own());
  WEIR_TRY(socket.status());
  WEIR_TRY(socket->begin_connect(ends_.to));
  return std::optional<Socket>(std::move(*socket));
}

}  // namespace weir
