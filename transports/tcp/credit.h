// SPDX-License-Identifier: Apache-2.0
/// Credit of a path of a tcp channel: how the receiver limits the bytes that its sender has in flight there
/// (transports/credit_budget.h). Credit and announcements use the path's control connection
/// (transports/tcp/control_connections.h). For the files of this folder only.
///
/// Counts bytes of payload since the channel began. Headers need no credit, and announce the payload that
/// follows them; the sender announces messages that wait behind others.
///
/// Not thread-safe, except for the budget.
/// Tests: tests/transports/tcp_test.cc, tests/transports/credit_budget_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "transports/credit_budget.h"
#include "transports/net_counters.h"

namespace weir::tcp {

/// The sending end.
class SenderCredit {
 public:
  /// Updates `live_counters`, which outlives it.
  explicit SenderCredit(LiveNetCounters& live_counters) : live_counters_(live_counters) {}

  /// Adds bytes to send.
  void publish(uint32_t bytes) { published_ += bytes; }
  /// Counts payload that the kernel has taken.
  void use(uint64_t bytes);
  /// Bytes that may be sent now.
  uint64_t left() const { return limit_ > used_ ? limit_ - used_ : 0; }
  /// Whether there is more to send than the credit allows, so that new credit matters.
  bool lacks() const { return published_ > limit_; }
  /// Sets the limit that the receiver has granted.
  void hear(uint64_t limit) { limit_ = limit; }
  /// Returns the total number of bytes to announce if they exceed the credit and were not announced yet; else
  /// 0.
  uint64_t to_announce() const { return lacks() && announced_ != published_ ? published_ : 0; }
  void announced(uint64_t bytes) { announced_ = bytes; }
  /// Starts a stall: there is data, but no credit. use() or go_on() ends it.
  void stall(int64_t now);
  void go_on(int64_t now);

 private:
  LiveNetCounters& live_counters_;
  uint64_t published_ = 0;
  uint64_t announced_ = 0;
  uint64_t used_ = 0;
  uint64_t limit_ = CreditBudget::kLeast;
  int64_t stalled_since_ = 0;  ///< begin of the current stall; ns; 0: none
};

/// The receiving end.
class ReceiverCredit {
 public:
  /// For one life of the channel. `budget` and `live_counters` outlive it. `source` identifies the sender's
  /// process.
  ReceiverCredit(CreditBudget& budget, uint64_t source, LiveNetCounters& live_counters)
      : account_(budget.open(source)), live_counters_(live_counters) {}

  /// Counts payload that a header or the sender has announced, or that has arrived.
  void announce(uint32_t bytes) { announced_ += bytes; }
  void hear(uint64_t announced) { heard_ = std::max(heard_, announced); }
  void arrive(uint64_t bytes) { arrived_ += bytes; }
  /// Whether nothing has changed since there was last nothing to send.
  bool settled() const { return settled_ == arrived_ && announced_ == arrived_; }
  /// Whether announced bytes have not arrived yet, so that new announcements may have arrived.
  bool expects() const { return announced_ > arrived_; }
  /// The limit to tell the sender, or the limit that it has. `room`: payload bytes beyond what has arrived
  /// for which there are slots.
  uint64_t limit(uint64_t room, int64_t now);
  uint64_t told() const { return told_; }
  void tell(uint64_t limit);
  /// Marks the state as sent: the sender has the current limit.
  void settle();

 private:
  const std::unique_ptr<CreditBudget::Account> account_;
  LiveNetCounters& live_counters_;
  uint64_t announced_ = 0;  ///< bytes that headers have announced
  uint64_t heard_ = 0;      ///< bytes that the sender announced on the control connection
  uint64_t arrived_ = 0;
  uint64_t settled_ = UINT64_MAX;  ///< value of arrived_ when there was last nothing left to send
  uint64_t told_ = CreditBudget::kLeast;
};

}  // namespace weir::tcp
