// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/memory_owner.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

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

/// What is copied at a time to addresses that are better for the kernel, and the least for which that pays.
constexpr size_t kPieceBytes = size_t{32} << 10;
constexpr size_t kLeastMoved = 4096;
static_assert(kPieceBytes % kLeastMoved == 0);

/// The kernel copies by `rep movsb`. On AMD's Zen 3 that takes four times as long if the target begins 1 to
/// 31 bytes behind the source, counted within their pages (docs/lab/changes.md).
bool collide(RemoteAddress from, const std::byte* to) {
  constexpr size_t kPageBytes = 4096, kCollidingBytes = 32;
  const size_t behind = (reinterpret_cast<RemoteAddress>(to) - from) % kPageBytes;
  return behind > 0 && behind < kCollidingBytes;
}

/// Memory of this thread, of kPieceBytes, that does not collide with `from`.
std::byte* apart_from(RemoteAddress from) {
  constexpr size_t kApart = 64;
  thread_local const auto memory = std::make_unique_for_overwrite<std::byte[]>(kPieceBytes + kApart);
  return memory.get() + (collide(from, memory.get()) ? kApart : 0);
}

bool read_once(const MemoryOwner& owner, RemoteAddress from, std::byte* to, size_t bytes) {
  uint64_t token = 0;
  const auto pid = static_cast<pid_t>(owner.pid);
  const int error = RemoteMemory(pid).read({{&token, owner.token_address, sizeof token}, {to, from, bytes}});
  if (error == 0 && token == owner.token) return true;
  WEIR_INFO(p2p, "Large messages from process {} are copied twice: {}", pid,
            explain_refusal(pid, error == 0 ? ESRCH : error));
  return false;
}

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
  std::byte* const apart = bytes >= kLeastMoved && collide(from, to) ? apart_from(from) : nullptr;
  const size_t most = apart != nullptr ? kPieceBytes : kMostAtOnce;
  for (size_t at = 0; at < bytes; at += most) {
    const size_t now = std::min(most, bytes - at);
    if (!read_once(owner, from + at, apart != nullptr ? apart : to + at, now)) return false;
    if (apart != nullptr) std::memcpy(to + at, apart, now);
  }
  return true;
}

}  // namespace weir
