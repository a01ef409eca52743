// SPDX-License-Identifier: Apache-2.0
/// Entries of the local registry that a process makes by hand, as anybody may.
#pragma once

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "src/net/listener/local_registry.h"

namespace weir::testing {

/// Listens under the name that process `entry.pid` would have.
inline Socket listen_as(const RegisteredListener& entry) {
  const std::string name = fmt::format("weir/listener/{}/{}", entry.pid, entry.listener.text());
  sockaddr_un raw{};
  raw.sun_family = AF_UNIX;
  std::memcpy(raw.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  Socket out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(out.fd(), reinterpret_cast<sockaddr*>(&raw), size) != 0 || listen(out.fd(), 64) != 0) out.close();
  return out;
}

}  // namespace weir::testing
