// SPDX-License-Identifier: Apache-2.0

#include "src/net/interface_drops.h"

#include <fmt/format.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/shortage.h"
#include "src/net/socket.h"

namespace weir {
namespace {

constexpr size_t kBuffer = size_t{64} << 10;  // twice the longest message of the kernel

Status unanswered(int error) {
  return system_failure("cannot query the network interfaces from the kernel (rtnetlink)", error);
}

/// Reads a T from the beginning of the bytes, which may be shorter or longer: newer kernels add fields at the
/// end.
template <typename T>
T read_as(BytesView bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

/// The content of the attribute `type` among `attributes`; nullopt if it is missing.
std::optional<BytesView> attribute(BytesView attributes, uint16_t type) {
  while (attributes.size() >= sizeof(rtattr)) {
    const auto head = read_as<rtattr>(attributes);
    if (head.rta_len < sizeof head || head.rta_len > attributes.size()) return std::nullopt;
    if ((head.rta_type & NLA_TYPE_MASK) == type) return attributes.first(head.rta_len).subspan(sizeof head);
    attributes = attributes.subspan(std::min<size_t>(RTA_ALIGN(head.rta_len), attributes.size()));
  }
  return std::nullopt;
}

/// Requests all objects of a kind; `T` is the struct at the beginning of the request and of each answer.
template <typename T>
Status dump(const Socket& socket, uint16_t kind, const std::function<void(const T&, BytesView)>& each) {
  struct {
    nlmsghdr head;
    T body;
  } request = {};
  request.head = {.nlmsg_len = sizeof request,
                  .nlmsg_type = kind,
                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                  .nlmsg_seq = kind,
                  .nlmsg_pid = 0};
  if (send(socket.fd(), &request, sizeof request, 0) < 0) return unanswered(errno);
  std::vector<std::byte> buffer(kBuffer);
  for (;;) {
    const ssize_t got = recv(socket.fd(), buffer.data(), buffer.size(), MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return unanswered(got < 0 ? errno : EPROTO);
    if (static_cast<size_t>(got) > buffer.size()) return unanswered(EMSGSIZE);
    BytesView rest = BytesView(buffer).first(static_cast<size_t>(got));
    while (rest.size() >= sizeof(nlmsghdr)) {
      const auto head = read_as<nlmsghdr>(rest);
      if (head.nlmsg_len < sizeof head || head.nlmsg_len > rest.size()) return unanswered(EPROTO);
      const BytesView body = rest.first(head.nlmsg_len).subspan(NLMSG_HDRLEN);
      if (head.nlmsg_type == NLMSG_DONE) return {};
      if (head.nlmsg_type == NLMSG_ERROR) return unanswered(-read_as<nlmsgerr>(body).error);
      if (body.size() >= NLMSG_ALIGN(sizeof(T))) each(read_as<T>(body), body.subspan(NLMSG_ALIGN(sizeof(T))));
      rest = rest.subspan(std::min<size_t>(NLMSG_ALIGN(head.nlmsg_len), rest.size()));
    }
  }
}

}  // namespace

Result<InterfaceFaults> interface_faults(const std::set<std::string>& interfaces) {
  const Socket socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket.valid()) return unanswered(errno);
  const timeval timeout{.tv_sec = 1, .tv_usec = 0};  // the kernel answers at once, or never
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  InterfaceFaults faults;
  std::set<int> indices;
  WEIR_TRY(dump<ifinfomsg>(socket, RTM_GETLINK, [&](const ifinfomsg& link, BytesView attributes) {
    const auto name = attribute(attributes, IFLA_IFNAME);
    if (!name || name->empty()) return;
    if (!interfaces.contains(std::string(reinterpret_cast<const char*>(name->data()), name->size() - 1)))
      return;
    indices.insert(link.ifi_index);
    const auto counted = attribute(attributes, IFLA_STATS64);
    if (!counted) return;
    const auto counts = read_as<rtnl_link_stats64>(*counted);
    faults.dropped += counts.tx_dropped + counts.rx_missed_errors;
    faults.damaged += counts.rx_errors + counts.tx_errors;
  }));
  WEIR_TRY(dump<tcmsg>(socket, RTM_GETQDISC, [&](const tcmsg& queue, BytesView attributes) {
    // The counters of a root discipline include those of the disciplines below it.
    if (queue.tcm_parent != TC_H_ROOT || !indices.contains(queue.tcm_ifindex)) return;
    const auto counted = attribute(attributes, TCA_STATS2);
    const auto counts = counted ? attribute(*counted, TCA_STATS_QUEUE) : std::nullopt;
    if (counts) faults.dropped += read_as<gnet_stats_queue>(*counts).drops;
  }));
  return faults;
}

}  // namespace weir
