#include "transports/tcp_counters.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace weir::tcp {

std::string Counters::describe() const {
  if (sent == 0 && received == 0) return {};
  return fmt::format(
      "tcp: {} bytes sent, {} received; {} grants given; {} stalls for want of credit, {:.1f} ms in all; {} "
      "segments sent again",
      sent, received, grants, stalls, static_cast<double>(stalled_ns) * 1e-6, retransmitted);
}

uint64_t retransmitted(const Socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_total_retrans;
}

}  // namespace weir::tcp
