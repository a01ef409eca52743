// SPDX-License-Identifier: Apache-2.0
/// Credit of a path of a tcp channel: how the receiver limits what its sender has under way there
/// (transports/credit_budget.h). What is told goes over the path's control connection
/// (transports/tcp/control_connections.h). For the files of this folder only.
///
/// Counted are bytes of payload since the channel began. Headers travel without credit, and announce what
/// follows them; the sender announces what waits behind other messages.
///
/// Not thread-safe, but for the budget.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "transports/credit_budget.h"
#include "transports/net_counters.h"

namespace weir::tcp {

/// The sending end.
class CreditTaker {
 public:
  /// Counts in `live_counters`, which outlives it.
  explicit CreditTaker(LiveNetCounters& live_counters) : live_counters_(live_counters) {}

  /// There is more to be sent.
  void publish(uint32_t bytes) { published_ += bytes; }
  /// The kernel has taken so much payload.
  void use(uint64_t bytes);
  /// What may be sent now.
  uint64_t left() const { return limit_ > used_ ? limit_ - used_ : 0; }
  /// Not all that there is may be sent: the receiver's word matters.
  bool lacks() const { return published_ > limit_; }
  /// The receiver's word.
  void hear(uint64_t limit) { limit_ = limit; }
  /// All that there is, if it is more than may be sent and the receiver was not told; else 0.
  uint64_t to_announce() const { return lacks() && announced_ != published_ ? published_ : 0; }
  void announced(uint64_t bytes) { announced_ = bytes; }
  /// The sender has something and may send nothing; use() or go_on() end that.
  void stall(int64_t now);
  void go_on(int64_t now);

 private:
  LiveNetCounters& live_counters_;
  uint64_t published_ = 0;
  uint64_t announced_ = 0;
  uint64_t used_ = 0;
  uint64_t limit_ = CreditBudget::kLeast;
  int64_t stalled_since_ = 0;  ///< 0: not
};

/// The receiving end.
class CreditGiver {
 public:
  /// For a life of the channel. `budget` and `live_counters` outlive it. `source` names the sender's process.
  CreditGiver(CreditBudget& budget, uint64_t source, LiveNetCounters& live_counters)
      : account_(budget.open(source)), live_counters_(live_counters) {}

  /// A header told of payload, or the sender did; payload has arrived.
  void announce(uint32_t bytes) { announced_ += bytes; }
  void hear(uint64_t announced) { heard_ = std::max(heard_, announced); }
  void arrive(uint64_t bytes) { arrived_ += bytes; }
  /// Nothing has happened since there was nothing left to say.
  bool settled() const { return settled_ == arrived_ && announced_ == arrived_; }
  /// Something is to come: the sender may have said more.
  bool expects() const { return announced_ > arrived_; }
  /// What the sender is to be told, or what it knows. `room`: bytes that there are slots for beyond what has
  /// arrived.
  uint64_t limit(uint64_t room, int64_t now);
  uint64_t told() const { return told_; }
  void tell(uint64_t limit);
  /// The sender knows all that there is to say.
  void settle();

 private:
  const std::unique_ptr<CreditBudget::Account> account_;
  LiveNetCounters& live_counters_;
  uint64_t announced_ = 0;  ///< by headers
  uint64_t heard_ = 0;      ///< announced on the control connection
  uint64_t arrived_ = 0;
  uint64_t settled_ = UINT64_MAX;  ///< arrived_ when nothing was left to do, last time
  uint64_t told_ = CreditBudget::kLeast;
};

}  // namespace weir::tcp
