// SPDX-License-Identifier: Apache-2.0
/// Receives what a test expects, all of it. The library itself takes what is there and goes on.
#pragma once

#include <poll.h>

#include <cstddef>
#include <span>

#include "src/net/socket.h"

namespace weir {

/// Errors: what try_recv() says; remote_error after the deadline, with "no answer in time".
inline Status receive_all(const Socket& socket, std::span<std::byte> into, const Deadline& deadline) {
  while (!into.empty()) {
    const auto received = socket.try_recv(into);
    WEIR_TRY(received.status());
    into = into.subspan(*received);
    if (*received == 0 && !wait_for(socket.fd(), POLLIN, deadline))
      return Status(Code::remote_error, "no answer in time");
  }
  return {};
}

}  // namespace weir
