// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/local_owner.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "src/base/text.h"

namespace weir {

std::optional<PeerProcess> owner_of(const RegisteredListener& entry) {
  const auto socket = connect_locally(entry);
  if (!socket.ok() || !socket->has_value()) return std::nullopt;
  return peer_process(**socket);
}

bool is_own_entry(const RegisteredListener& entry, const PeerProcess& owner) {
  if (owner.pid == 0 || owner.pid == entry.pid) return true;
  return innermost_pid(file_text(fmt::format("/proc/{}/status", owner.pid)).value_or("")) == entry.pid;
}

int32_t innermost_pid(std::string_view status) {
  constexpr std::string_view kLine = "NSpid:";
  for (const std::string_view line : split_list(status, '\n')) {
    if (!line.starts_with(kLine)) continue;
    const std::vector<std::string_view> pids = split_list(line.substr(kLine.size()), '\t');
    int32_t pid = 0;
    if (!pids.empty()) std::from_chars(pids.back().data(), pids.back().data() + pids.back().size(), pid);
    return pid;
  }
  return 0;
}

}  // namespace weir
