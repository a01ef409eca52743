// SPDX-License-Identifier: Apache-2.0
/// Counters of what a transport has carried over a network, and of what slowed it down; for the log and for
/// users.
/// Tests: tests/transports/net_counters_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace weir {

/// Totals since the transport was created. 0 for what the transport does not count or the kernel does not
/// report.
struct NetCounters {
  uint64_t sent_bytes = 0;  ///< payload of messages passed to the network; retransmissions are not counted
  uint64_t received_bytes = 0;  ///< payload of messages that the receiver took
  uint64_t sent_messages = 0;
  uint64_t received_messages = 0;
  uint64_t grants = 0;      ///< number of credit grants that receivers of this rank sent
  uint64_t stalls = 0;      ///< number of times that a sender of this rank waited for credit
  uint64_t stalled_ns = 0;  ///< total time of completed waits for credit, over all channels; ns
  uint64_t given_up = 0;    ///< connections (tcp) and queue pairs (verbs) that senders of this rank abandoned
  uint64_t retransmitted = 0;  ///< TCP segments that the kernel of this host retransmitted
  /// Packets that this host dropped at the interfaces (tcp) and RDMA ports (verbs) in use since the first
  /// channel was opened, from all senders: ranks of one host report the same packets.
  uint64_t dropped = 0;
  uint64_t damaged = 0;  ///< packets with errors at those interfaces (tcp), counted alike
  uint64_t retries = 0;  ///< retransmissions by those RDMA ports (drivers::RdmaCounts), counted alike

  NetCounters& operator+=(const NetCounters& other);
  bool carried() const { return sent_messages + received_messages > 0; }
  /// One line without a newline: "262144 bytes in 4 messages sent, ...".
  std::string describe() const;
};

/// The counters that ends of channels update. Any thread may add and read.
class LiveNetCounters {
 public:
  void sent(uint64_t bytes) {
    add(sent_bytes_, bytes);
    add(sent_messages_, 1);
  }
  void received(uint64_t bytes) {
    add(received_bytes_, bytes);
    add(received_messages_, 1);
  }
  void granted() { add(grants_, 1); }
  void stalled() { add(stalls_, 1); }
  void waited(int64_t ns) { add(stalled_ns_, static_cast<uint64_t>(ns)); }
  void gave_up() { add(given_up_, 1); }
  NetCounters read() const;

 private:
  using Count = std::atomic<uint64_t>;
  static void add(Count& count, uint64_t more) { count.fetch_add(more, std::memory_order_relaxed); }

  Count sent_bytes_{0}, received_bytes_{0}, sent_messages_{0}, received_messages_{0};
  Count grants_{0}, stalls_{0}, stalled_ns_{0}, given_up_{0};
};

}  // namespace weir
