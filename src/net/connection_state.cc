// SPDX-License-Identifier: Apache-2.0

#include "src/net/connection_state.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace weir {
namespace {

/// After so many attempts in vain, at least 3 s have passed; a lost packet needs one or two.
constexpr uint32_t kLeastAttempts = 4;

std::optional<tcp_info> info_of(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info;
}

uint64_t retransmitted_on(int socket) {
  const auto info = info_of(socket);
  return info ? info->tcpi_total_retrans : 0;
}

std::optional<SocketAddress> address_of(int socket, int (*get)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage raw{};
  socklen_t size = sizeof raw;
  if (get(socket, reinterpret_cast<sockaddr*>(&raw), &size) != 0) return std::nullopt;
  return SocketAddress::from(reinterpret_cast<const sockaddr*>(&raw));
}

}  // namespace

bool ConnectionState::lost() const {
  return attempts >= kLeastAttempts && (unacknowledged_bytes > 0 || given_up);
}

std::string ConnectionState::describe() const {
  if (given_up)
    return fmt::format(
        "packets of up to {} bytes vanish between {} and {}: the kernel has given up the connection from {} "
        "to {} "
        "after {} attempts in vain",
        path_mtu, from.host_text(), to.host_text(), from.text(), to.text(), attempts);
  std::string words = fmt::format(
      "on the connection from {} to {}, {} bytes are not acknowledged, the last acknowledgement came "
      "{:.1f} s ago, and the kernel has since tried {} times ({} segments retransmitted in all, round-trip "
      "time {:.2f} ms, segments of up to {} bytes, path MTU {})",
      from.text(), to.text(), unacknowledged_bytes, quiet_ms / 1e3, attempts, retransmitted,
      round_trip_us / 1e3, segment_bytes, path_mtu);
  if (!lost()) return words;
  // The kernel sends again from the oldest byte that is missing, in segments as large as it has data for.
  if (unacknowledged_bytes >= segment_bytes)
    return fmt::format("packets of {} bytes vanish between {} and {}: {}", path_mtu, from.host_text(),
                       to.host_text(), words);
  return fmt::format("packets vanish between {} and {}: {}", from.host_text(), to.host_text(), words);
}

std::optional<ConnectionState> connection_state(int socket) {
  const auto info = info_of(socket);
  const auto from = address_of(socket, &getsockname), to = address_of(socket, &getpeername);
  if (!info || !from || !to) return std::nullopt;
  int queued = 0;
  if (ioctl(socket, SIOCOUTQ, &queued) != 0) return std::nullopt;
  ConnectionState state;
  state.from = *from;
  state.to = *to;
  state.unacknowledged_bytes = static_cast<uint64_t>(std::max(queued, 0));
  // Where this host itself drops the packets nothing is in flight, and the kernel probes. Each
  // acknowledgement sets both counts back.
  state.attempts = std::max(info->tcpi_retransmits, info->tcpi_probes);
  state.retransmitted = info->tcpi_total_retrans;
  state.quiet_ms = info->tcpi_last_ack_recv;
  state.round_trip_us = info->tcpi_rtt;
  state.segment_bytes = info->tcpi_snd_mss;
  state.path_mtu = info->tcpi_pmtu;
  return state;
}

/// The state of a connection that the kernel has closed; its addresses are not known any more.
static std::optional<ConnectionState> given_up_state(int socket) {
  const auto info = info_of(socket);
  if (!info || info->tcpi_state != TCP_CLOSE) return std::nullopt;
  ConnectionState state;
  state.given_up = true;
  state.attempts = std::max(info->tcpi_retransmits, info->tcpi_probes);
  state.path_mtu = info->tcpi_pmtu;
  return state;
}

void ConnectionSet::watch(const Socket& socket, int peer) {
  const auto from = socket.local_address(), to = socket.peer_address();
  const bool known = from.ok() && to.ok();
  const std::lock_guard lock(mutex_);
  open_.insert_or_assign(socket.fd(), Open{peer, ++watched_, from.ok() ? *from : SocketAddress(),
                                           known ? *to : SocketAddress()});
}

void ConnectionSet::forget(const Socket& socket) {
  const std::lock_guard lock(mutex_);
  if (open_.erase(socket.fd()) > 0) closed_ += retransmitted_on(socket.fd());
}

uint64_t ConnectionSet::retransmitted() const {
  const std::lock_guard lock(mutex_);
  uint64_t all = closed_;
  for (const auto& [socket, open] : open_) all += retransmitted_on(socket);
  return all;
}

std::vector<ConnectionState> ConnectionSet::unacknowledged() const {
  std::vector<ConnectionState> found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [socket, open] : open_) {
      auto state = connection_state(socket);
      if (!state && open.to.valid()) state = given_up_state(socket);
      if (state && state->given_up) std::tie(state->from, state->to) = std::tie(open.from, open.to);
      if (state && (state->unacknowledged_bytes > 0 || state->lost())) found.push_back(*state);
    }
  }
  std::ranges::stable_sort(found, std::greater(), &ConnectionState::attempts);
  return found;
}

std::vector<ConnectionSet::PeerUse> ConnectionSet::use() const {
  std::vector<PeerUse> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [socket, open] : open_) {
    if (const auto use = connection_use(socket)) out.push_back({open.peer, open.from, open.number, *use});
  }
  return out;
}

}  // namespace weir
