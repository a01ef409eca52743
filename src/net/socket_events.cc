// SPDX-License-Identifier: Apache-2.0

#include "src/net/socket_events.h"

#include <sys/epoll.h>

namespace weir {

int SocketEvents::fd() const {
  std::call_once(made_, [this] { epoll_ = Socket(epoll_create1(EPOLL_CLOEXEC)); });
  return epoll_.fd();
}

void SocketEvents::watch(const Socket& socket) const {
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {}};
  epoll_ctl(fd(), EPOLL_CTL_ADD, socket.fd(), &event);
}

}  // namespace weir
