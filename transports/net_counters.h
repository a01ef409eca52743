// SPDX-License-Identifier: Apache-2.0
/// What a transport has carried over a network, and what was in the way: for the log and for users.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace weir {

/// Totals since the transport was made. What a transport does not count, or the kernel does not tell, is 0.
struct NetCounters {
  uint64_t sent_bytes = 0;      ///< payload of messages given to the network; sent again counts once
  uint64_t received_bytes = 0;  ///< payload of messages that were taken
  uint64_t sent_messages = 0;
  uint64_t received_messages = 0;
  uint64_t grants = 0;      ///< of credit, by receivers of this rank
  uint64_t stalls = 0;      ///< times that a sender of this rank waited for credit
  uint64_t stalled_ns = 0;  ///< how long, over all channels; waits that are over
  uint64_t given_up =
      0;  ///< connections (tcp) and queue pairs (verbs) that senders of this rank go on without
  uint64_t retransmitted = 0;  ///< TCP segments, by the kernel of this host
  /// Packets, by this host at the interfaces (tcp) and RDMA ports (verbs) in use, since the first channel was
  /// opened, of all who send: ranks of one host tell the same ones.
  uint64_t dropped = 0;
  uint64_t retries = 0;  ///< times that those RDMA ports began to send again (drivers::RdmaCounts); likewise

  NetCounters& operator+=(const NetCounters& other);
  bool carried() const { return sent_messages + received_messages > 0; }
  /// One line, without an end: "262144 bytes in 4 messages sent, ...".
  std::string describe() const;
};

/// The part of them that ends of channels count as they go. Any thread may add and read.
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
