// SPDX-License-Identifier: Apache-2.0
/// The control connections of a tcp channel, one on each path: whichever works says what there is to say of
/// the channel, and each says what concerns its own path. For the files of this folder only.
///
/// Not thread-safe, but for the budget.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transports/tcp/control.h"
#include "transports/tcp/credit.h"
#include "transports/tcp/wire.h"

namespace weir::tcp {

/// The sender's ends.
class SenderControls {
 public:
  /// A path that has answered nothing for `timeout_ns` while another has is silent.
  /// Control connections that could not be made have ended. `live_counters`: of what waits for credit; null:
  /// the receiver gives none. It outlives the control connections.
  SenderControls(std::vector<Result<ControlConnection>> controls, int64_t timeout_ns,
                 LiveNetCounters* live_counters);
  ~SenderControls();
  SenderControls(const SenderControls&) = delete;
  SenderControls& operator=(const SenderControls&) = delete;

  /// Goes on with opening the control connection of a path. True once it works; false, too, if it has ended.
  bool ready(size_t path);
  /// Why the control connection of a path has ended; empty: it has not.
  const std::string& ended(size_t path) const { return controls_[path].ended; }
  /// Nothing is said or heard on this path any more.
  void leave(size_t path);
  /// Says that these streams bring nothing any more, one bit each.
  void tell_gone(uint64_t streams) { gone_ = streams; }

  /// Hears and says what there is. Never blocks.
  void serve();
  const Arrived& arrived() const { return arrived_; }
  /// Asks the kernels at the other ends of all paths for a sign of life, now and then, and returns the paths
  /// that have given none for too long while another has. Call it while something is due from the receiver.
  std::vector<size_t> silent(int64_t now);

  /// What may be sent on a path; null: everything.
  CreditTaker* credit(size_t path) { return controls_[path].credit ? &*controls_[path].credit : nullptr; }
  /// Hears the receiver's word on a path, if not all may be sent there.
  void refresh(size_t path);
  /// Says what is to be sent on a path, if it is more than may be and the receiver was not told.
  void announce(size_t path);

 private:
  struct Control {
    std::unique_ptr<ControlConnection> connection;  // null: left, or ended
    std::string ended;
    std::optional<CreditTaker> credit;
    uint64_t told_gone = 0;
    bool open = false;
    bool answered = false;  // since it was asked for a sign of life
  };

  void hear(Control& control);
  static void end(Control& control, const Status& why);
  void ask(int64_t now);

  std::vector<Control> controls_;
  const int64_t timeout_ns_;
  Arrived arrived_;
  uint64_t gone_ = 0;
  bool asked_ = false;    ///< for signs of life, of which some are missing
  int64_t asked_ns_ = 0;  ///< when, the last time
};

/// The receiver's ends.
class ReceiverControls {
 public:
  /// Control connections under `keys`, which come at `listener`. It outlives them.
  ReceiverControls(Listener& listener, const std::vector<DeliveryKey>& keys);
  ~ReceiverControls();
  ReceiverControls(const ReceiverControls&) = delete;
  ReceiverControls& operator=(const ReceiverControls&) = delete;

  /// Gives credit on all paths. `source` names the sender's process. Both others outlive the control
  /// connections.
  void limit(CreditBudget& budget, uint64_t source, LiveNetCounters& live_counters);
  /// Hears what there is and says what has arrived, on each control connection once. Never blocks. False: a
  /// control connection had no room. Trouble of a control connection is none of the channel's: where the
  /// sender is gone its streams end as well.
  bool serve(const Arrived& arrived);
  /// Hears what is announced, and grants. `room`: payload that there are slots for beyond what has arrived.
  void grant(uint64_t room);
  size_t size() const { return controls_.size(); }
  /// True once the control connection of a path has come.
  bool ready(size_t path) { return controls_[path].incoming.connection() != nullptr; }
  /// Streams that bring nothing any more, one bit each.
  uint64_t gone() const { return gone_; }
  /// What comes on a path; null: nothing is limited.
  CreditGiver* credit(size_t path) { return controls_[path].credit.get(); }
  /// Nothing comes on this path any more: what it held of the budget is free.
  void leave(size_t path) { controls_[path].credit.reset(); }

 private:
  struct Control {
    IncomingControl incoming;
    uint64_t told = 0;
    std::unique_ptr<CreditGiver> credit;
  };

  void hear(Control& control, ControlConnection& open);

  std::vector<Control> controls_;
  uint64_t gone_ = 0;
};

}  // namespace weir::tcp
