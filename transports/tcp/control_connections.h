// SPDX-License-Identifier: Apache-2.0
/// The control connections of a tcp channel, one on each path: frames about the channel use every connection
/// that works; frames about a path use its own connection. For the files of this folder only.
///
/// Not thread-safe, except for the budget.
/// Tests: tests/transports/tcp_failover_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/net/socket_events.h"
#include "transports/tcp/control.h"
#include "transports/tcp/credit.h"
#include "transports/tcp/wire.h"

namespace weir::tcp {

/// The sender's ends.
class SenderControls {
 public:
  /// A path without an answer for `timeout_ns` is silent if another path has answered. `live_counters` counts
  /// stalls; null: the receiver grants no credit. It and `events` outlive the control connections.
  SenderControls(std::vector<ControlConnection> controls, int64_t timeout_ns, LiveNetCounters* live_counters,
                 const SocketEvents& events);
  ~SenderControls();
  SenderControls(const SenderControls&) = delete;
  SenderControls& operator=(const SenderControls&) = delete;

  /// Continues opening the control connection of a path. True once it works; false also if it has ended.
  bool ready(size_t path);
  /// Whether the receiver has said something on the control connection of a path.
  bool heard(size_t path) const { return controls_[path].heard; }
  /// The reason why the control connection of a path has ended; empty if it has not.
  const std::string& ended(size_t path) const { return controls_[path].ended; }
  /// Stops using the control connection of a path.
  void leave(size_t path);
  /// Begins to open another one, for an attempt at the path; its credit begins anew.
  void reopen(size_t path, uint32_t attempt, ControlConnection connection);
  /// Tells the receiver that this attempt of a stream is abandoned, on all control connections.
  void tell_gone(const Attempt& stream);
  /// True once the receiver was told of all that are.
  bool has_told_gone() const;

  /// Receives and sends pending frames. Never blocks.
  void serve();
  const Acknowledgement& arrived() const { return arrived_; }
  /// From time to time pings the kernels at the other ends of all paths, and returns the paths that have not
  /// answered in time while another has. Call it while an acknowledgement from the receiver is due.
  std::vector<size_t> silent(int64_t now);

  /// Credit of a path; null: unlimited.
  SenderCredit* credit(size_t path) { return controls_[path].credit ? &*controls_[path].credit : nullptr; }
  /// Receives new credit on a path if the sender lacks credit there.
  void refresh(size_t path);
  /// Announces the bytes to send on a path if they exceed the credit and were not announced yet.
  void announce(size_t path);

 private:
  struct Control {
    std::unique_ptr<ControlConnection> connection;  // null: left or ended
    std::string ended;
    std::optional<SenderCredit> credit;
    uint32_t attempt = 0;       // number of the attempt
    uint32_t told_attempt = 0;  // number that was sent
    uint64_t told = 0;          // version of the last notice that was sent
    bool open = false;
    bool heard = false;
    bool answered = false;  // the peer's kernel has acknowledged the last ping
  };

  /// The last abandoned attempt of a stream. Notices are in the order of their versions.
  struct Notice {
    Attempt stream;
    uint64_t version;
  };

  void hear(Control& control);
  void tell_news(size_t path);
  static void end(Control& control, const Status& why);
  void ask(int64_t now);

  std::vector<Control> controls_;
  const int64_t timeout_ns_;
  const SocketEvents& events_;
  LiveNetCounters* const live_counters_;
  Acknowledgement arrived_;
  std::vector<Notice> notices_;
  uint64_t version_ = 0;
  bool asked_ = false;    ///< pings were sent, and some are not acknowledged
  int64_t asked_ns_ = 0;  ///< time of the last pings; ns
};

/// The receiver's ends.
class ReceiverControls {
 public:
  /// Control connections that arrive at `listener` under `keys`, one for each path. The listener and `events`
  /// outlive them.
  ReceiverControls(Listener& listener, const std::vector<DeliveryKey>& keys, const SocketEvents& events);
  ~ReceiverControls();
  ReceiverControls(const ReceiverControls&) = delete;
  ReceiverControls& operator=(const ReceiverControls&) = delete;

  /// Limits all paths by credit. `source` identifies the sender's process. `budget` and `live_counters`
  /// outlive the control connections.
  void limit(CreditBudget& budget, uint64_t source, LiveNetCounters& live_counters);
  /// Receives pending frames and acknowledges messages, once on each control connection. Never blocks.
  /// Returns false if the socket buffer of a control connection was full. An error of a control connection is
  /// no error of the channel: if the sender has gone, its streams end as well.
  bool serve(const Acknowledgement& arrived);
  /// Takes control connections of new attempts, if any has arrived. Never blocks.
  void follow_attempts();
  /// Receives announcements, and grants credit. `room`: payload bytes beyond what has arrived for which there
  /// are slots.
  void grant(uint64_t room);
  size_t size() const { return controls_.size(); }
  /// True once the control connection of a path has arrived.
  bool ready(size_t path) { return controls_[path].incoming.connection() != nullptr; }
  /// Whether the sender has abandoned this attempt of a stream.
  bool gone(const Attempt& stream) const { return gone_[stream.index] > stream.number; }
  /// The last attempt at a path whose control connection has arrived.
  uint32_t attempt(size_t path) const { return controls_[path].attempt; }
  /// Credit of a path; null: unlimited.
  ReceiverCredit* credit(size_t path) { return controls_[path].credit.get(); }
  /// Nothing arrives on this path before another attempt: releases its share of the budget.
  void leave(size_t path) { controls_[path].credit.reset(); }

 private:
  struct Control {
    IncomingControl incoming;
    uint64_t told = 0;
    uint32_t attempt = 0;
    std::unique_ptr<ReceiverCredit> credit;
    std::optional<ControlConnection> next;  // of an attempt whose number has not arrived yet
  };
  /// How the paths are limited.
  struct Limits {
    CreditBudget* budget;
    uint64_t source;
    LiveNetCounters* live_counters;

    std::unique_ptr<ReceiverCredit> open() const {
      return std::make_unique<ReceiverCredit>(*budget, source, *live_counters);
    }
  };

  void hear(Control& control, ControlConnection& open);
  void note_gone(const Attempt& stream);
  void follow_attempt(size_t path);

  Listener& listener_;
  const std::vector<DeliveryKey> keys_;
  const SocketEvents& events_;
  std::optional<Limits> limits_;
  std::vector<Control> controls_;
  std::array<uint32_t, kMostStreams> gone_{};  // of each stream: number of abandoned attempts
};

}  // namespace weir::tcp
