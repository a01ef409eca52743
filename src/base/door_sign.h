/// How other processes of this host find the door of one: by the name of a socket in the abstract namespace,
/// which the kernel lists in /proc/net/unix and takes down with the process. Nothing is sent over it.
///
/// Anybody on the host may hang up such a sign: who reads one asks at that door and judges the answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/socket.h"
#include "weir/status.h"

namespace weir {

/// What a sign says.
struct DoorSign {
  int32_t pid = 0;
  SocketAddress door;
};

/// Hangs up a sign of this process; it is there while the socket is open. system_error where there can be
/// none, with why.
Result<Socket> hang_sign(const SocketAddress& door);

/// All signs of this host, or of the network namespace where there are several, by process.
std::vector<DoorSign> read_signs();
/// Those in the text of /proc/net/unix.
std::vector<DoorSign> read_signs(std::string_view text);

}  // namespace weir
