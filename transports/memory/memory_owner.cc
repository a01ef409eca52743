// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/memory_owner.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/clock.h"
#include "src/base/log.h"

namespace weir {
namespace {

uint64_t new_token() {
  uint64_t token = 0;
  return getrandom(&token, sizeof token, 0) == sizeof token ? token : static_cast<uint64_t>(now_ns());
}

uint64_t own_pid_namespace() {
  static const uint64_t inode = pid_namespace();
  return inode;
}

/// The kernel copies less than 2 GiB at a time.
constexpr size_t kMostAtOnce = size_t{1} << 30;

}  // namespace

MemoryOwner MemoryOwner::self() {
  static const uint64_t token = new_token();
  return {getpid(), own_pid_namespace(), reinterpret_cast<RemoteAddress>(&token), token};
}

bool read_memory(const MemoryOwner& owner, RemoteAddress from, std::byte* to, size_t bytes) {
  if (owner.pid_namespace != own_pid_namespace() || owner.pid_namespace == 0) {
    WEIR_INFO(p2p, "Large messages from process {} are copied twice: it is in another pid namespace",
              owner.pid);
    return false;
  }
  for (; bytes > kMostAtOnce; bytes -= kMostAtOnce, from += kMostAtOnce, to += kMostAtOnce)
    if (!read_memory(owner, from, to, kMostAtOnce)) return false;
  uint64_t token = 0;
  const auto pid = static_cast<pid_t>(owner.pid);
  const int error = RemoteMemory(pid).read({{&token, owner.token_address, sizeof token}, {to, from, bytes}});
  if (error == 0 && token == owner.token) return true;
  WEIR_INFO(p2p, "Large messages from process {} are copied twice: {}", pid,
            explain_refusal(pid, error == 0 ? ESRCH : error));
  return false;
}

}  // namespace weir
