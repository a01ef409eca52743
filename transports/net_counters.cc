// SPDX-License-Identifier: Apache-2.0

#include "transports/net_counters.h"

#include <fmt/format.h>

namespace weir {

NetCounters& NetCounters::operator+=(const NetCounters& other) {
  sent_bytes += other.sent_bytes;
  received_bytes += other.received_bytes;
  sent_messages += other.sent_messages;
  received_messages += other.received_messages;
  grants += other.grants;
  stalls += other.stalls;
  stalled_ns += other.stalled_ns;
  given_up += other.given_up;
  retransmitted += other.retransmitted;
  dropped += other.dropped;
  damaged += other.damaged;
  retries += other.retries;
  return *this;
}

std::string NetCounters::describe() const {
  std::string text = fmt::format("{} bytes in {} messages sent, {} in {} received", sent_bytes, sent_messages,
                                 received_bytes, received_messages);
  if (grants + stalls > 0)
    text += fmt::format("; {} credit grants sent; {} stalls waiting for credit, {:.1f} ms in total", grants,
                        stalls, static_cast<double>(stalled_ns) * 1e-6);
  if (given_up > 0) text += fmt::format("; {} connections abandoned", given_up);
  if (retransmitted > 0) text += fmt::format("; {} segments retransmitted", retransmitted);
  if (dropped > 0) text += fmt::format("; {} packets dropped by this host", dropped);
  if (damaged > 0) text += fmt::format("; {} packets with errors at its interfaces", damaged);
  if (retries > 0) text += fmt::format("; {} retries by this host's RDMA ports", retries);
  return text;
}

NetCounters LiveNetCounters::read() const {
  const auto value = [](const Count& count) { return count.load(std::memory_order_relaxed); };
  return {.sent_bytes = value(sent_bytes_),
          .received_bytes = value(received_bytes_),
          .sent_messages = value(sent_messages_),
          .received_messages = value(received_messages_),
          .grants = value(grants_),
          .stalls = value(stalls_),
          .stalled_ns = value(stalled_ns_),
          .given_up = value(given_up_)};
}

}  // namespace weir
