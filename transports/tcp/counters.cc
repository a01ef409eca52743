// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/counters.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace weir::tcp {
namespace {

/// Number of retransmitted segments; 0 if the kernel does not report it.
uint64_t sent_again_on(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_total_retrans;
}

}  // namespace

void RetransmissionCounter::watch(const Socket& socket) {
  const std::lock_guard lock(mutex_);
  open_.insert(socket.fd());
}

void RetransmissionCounter::forget(const Socket& socket) {
  const std::lock_guard lock(mutex_);
  if (open_.erase(socket.fd()) > 0) closed_ += sent_again_on(socket.fd());
}

uint64_t RetransmissionCounter::segments() const {
  const std::lock_guard lock(mutex_);
  uint64_t all = closed_;
  for (const int socket : open_) all += sent_again_on(socket);
  return all;
}

}  // namespace weir::tcp
