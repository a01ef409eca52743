/// Credit of a tcp channel: how the receiver limits what its sender has under way
/// (transports/credit_budget.h), told over the control line. For the tcp_*.cc files only.
///
/// Counted are bytes of payload since the channel began. Headers travel without credit, and announce what
/// follows them; the sender announces what waits behind other messages.
///
/// Not thread-safe, but for the budget.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/clock.h"
#include "src/base/door.h"
#include "transports/credit_budget.h"
#include "transports/net_counters.h"
#include "transports/tcp_control.h"
#include "transports/transport.h"

namespace weir::tcp {

/// The sending end.
class CreditTaker {
 public:
  /// Counts in `tally`, which outlives it.
  CreditTaker(ControlLine line, NetTally& tally) : line_(std::move(line)), tally_(tally) {}

  /// Goes on with opening the line. True once it works.
  Result<bool> ready() { return line_.ready(); }
  /// A message was published.
  void publish(uint32_t bytes) { published_ += bytes; }
  /// The kernel has taken so much payload.
  void use(uint64_t bytes) {
    used_ += bytes;
    if (stalled_since_ != 0) go_on(now_ns());
  }
  /// What may be sent now.
  uint64_t left() const { return limit_ > used_ ? limit_ - used_ : 0; }
  /// Takes what the receiver has told, unless all that was published may be sent. REQUIRES: ready() was true.
  Status refresh();
  /// Tells what was published, if it is more than may be sent and the receiver does not know. REQUIRES:
  /// ready() was true.
  Status announce();
  /// The sender has something and may send nothing; use() or go_on() end that.
  void stall(int64_t now);
  void go_on(int64_t now);

 private:
  ControlLine line_;
  NetTally& tally_;
  uint64_t published_ = 0;
  uint64_t announced_ = 0;
  uint64_t used_ = 0;
  uint64_t limit_ = CreditBudget::kLeast;
  int64_t stalled_since_ = 0;  ///< 0: not
};

/// The receiving end.
class CreditGiver {
 public:
  /// For a life of the channel. `door`, `budget` and `tally` outlive it. `source` names the sender's process,
  /// `key` the control line.
  CreditGiver(Door& door, CreditBudget& budget, uint64_t source, const DeliveryKey& key, NetTally& tally)
      : budget_(budget), source_(source), listener_(door, key), tally_(tally) {}

  /// A header told of a message; payload has arrived.
  void announce(uint32_t bytes) { announced_ += bytes; }
  void arrive(uint64_t bytes) { arrived_ += bytes; }
  /// True once the line has come.
  bool ready() { return listener_.line() != nullptr; }
  /// Hears what was announced, and grants. `room`: payload that there are slots for, since the channel began.
  /// Trouble of the line is none of the channel's: where the sender is gone its streams end as well.
  void serve(uint64_t room);

 private:
  void hear(ControlLine& line);

  CreditBudget& budget_;
  const uint64_t source_;
  ControlListener listener_;
  NetTally& tally_;
  std::unique_ptr<CreditBudget::Account> account_;  ///< once the line has come
  uint64_t announced_ = 0;                          ///< by headers
  uint64_t heard_ = 0;                              ///< announced on the line
  uint64_t arrived_ = 0;
  uint64_t settled_ = UINT64_MAX;  ///< arrived_ when nothing was left to do, last time
  uint64_t told_ = CreditBudget::kLeast;
};

}  // namespace weir::tcp
