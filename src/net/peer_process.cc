// SPDX-License-Identifier: Apache-2.0

#include "src/net/peer_process.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

namespace weir {
namespace {

/// The kernel shows this number in place of users without one in a user namespace.
constexpr uint32_t kOverflowUid = 65534;

bool all_users_are_known() {
  std::ifstream file("/proc/self/uid_map");
  uint64_t first = 1;
  uint64_t outside = 1;
  uint64_t count = 0;
  file >> first >> outside >> count;
  return first == 0 && outside == 0 && count >= UINT32_MAX;
}

}  // namespace

std::optional<PeerProcess> peer_process(const Socket& socket) {
  int family = 0;
  socklen_t size = sizeof family;
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 || family != AF_UNIX)
    return std::nullopt;
  ucred peer{};
  size = sizeof peer;
  if (getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return PeerProcess{peer.pid, peer.uid};
}

std::string peer_words(const Socket& socket) {
  const auto peer = peer_process(socket);
  return peer ? fmt::format("process {} of user {}", peer->pid, peer->uid) : socket.peer_text();
}

bool is_own_user_or_root(uint32_t uid, uint32_t own, bool all_known) {
  if (uid == kOverflowUid && !all_known) return false;
  return uid == 0 || uid == own;
}

bool is_own_user_or_root(uint32_t uid) {
  return is_own_user_or_root(uid, geteuid(), uid != kOverflowUid || all_users_are_known());
}

}  // namespace weir
