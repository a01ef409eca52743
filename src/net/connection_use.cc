// SPDX-License-Identifier: Apache-2.0

#include "src/net/connection_use.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>

namespace weir {
namespace {

/// The kernel's tcp_info, of which the C library declares the beginning only.
struct KernelTcpInfo {
  std::byte beginning[104];
  uint64_t pacing_rate, max_pacing_rate;
  uint64_t bytes_acked, bytes_received;
  uint32_t segs_out, segs_in;
  uint32_t notsent_bytes, min_rtt;
  uint32_t data_segs_in, data_segs_out;
  uint64_t delivery_rate;
  uint64_t busy_time, rwnd_limited, sndbuf_limited;
};
static_assert(offsetof(KernelTcpInfo, bytes_acked) == 120 && offsetof(KernelTcpInfo, busy_time) == 168);

}  // namespace

std::optional<ConnectionUse> connection_use(int socket) {
  KernelTcpInfo info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(KernelTcpInfo, sndbuf_limited))
    return std::nullopt;
  const uint64_t waited = info.rwnd_limited < info.busy_time ? info.rwnd_limited : info.busy_time;
  return ConnectionUse{info.bytes_acked, info.busy_time - waited};
}

}  // namespace weir
