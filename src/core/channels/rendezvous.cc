// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/rendezvous.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "transports/memory/remote_memory.h"

namespace weir::core {
namespace {

uint64_t new_token() {
  uint64_t token = 0;
  return getrandom(&token, sizeof token, 0) == sizeof token ? token : static_cast<uint64_t>(now_ns());
}

}  // namespace

Rendezvous::Rendezvous() : pid_(getpid()), pid_namespace_(weir::pid_namespace()), token_(new_token()) {}

Offer Rendezvous::offer(const void* data, size_t bytes) const {
  return {reinterpret_cast<uint64_t>(data),
          bytes,
          reinterpret_cast<uint64_t>(&token_),
          token_,
          pid_namespace_,
          pid_};
}

FetchResult Rendezvous::fetch(const Offer& offer, size_t offset, std::byte* to, size_t bytes) const {
  if (offer.pid_namespace != pid_namespace_ || pid_namespace_ == 0) return FetchResult::never;
  if (offer.pid == pid_) {
    std::memcpy(to, reinterpret_cast<const std::byte*>(offer.address) + offset, bytes);
    return FetchResult::taken;
  }
  uint64_t token = 0;
  const int error =
      RemoteMemory(static_cast<pid_t>(offer.pid))
          .read({{&token, offer.token_address, sizeof token}, {to, offer.address + offset, bytes}});
  if (error == 0 && token == offer.token) return FetchResult::taken;
  if (error == EFAULT) return FetchResult::unreadable;
  WEIR_INFO(p2p, "Large receives are copied twice: {}",
            explain_refusal(static_cast<pid_t>(offer.pid), error == 0 ? ESRCH : error));
  return FetchResult::never;
}

}  // namespace weir::core
