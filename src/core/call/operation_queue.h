// SPDX-License-Identifier: Apache-2.0
/// The operations of a communicator that are queued on streams or go on in the background: keeps them in
/// issue order, limits how many there are, and has the thread of those that belong to no stream.
///
/// Thread-safe, but for draw(), queue(), background() and stop(), which the thread that issues operations
/// calls.
/// Tests: tests/core/admission_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "src/core/call/admission.h"
#include "src/core/call/operation.h"
#include "src/core/call/ticket_order.h"
#include "src/device/host_stream.h"

namespace weir::core {

class OperationQueue {
 public:
  /// The position of operations in issue order, and what they count for.
  struct Ticket {
    uint64_t number = 0;
    Admission::Load load;     ///< that was admitted; none where nothing is limited
    bool background = false;  ///< counts in in_background() until it has left
  };

  /// `blocking`: callers wait in their calls while Admission limits what is queued; others never wait.
  OperationQueue(const Admission::Limits& limits, bool blocking) : blocking_(blocking), admission_(limits) {}

  /// The next position, for operations that nobody limits.
  Ticket draw() { return {order_.draw(), {}, false}; }
  /// The next position for operations that are carried out later; waits until they are admitted. From now on
  /// used() is true. `counts`: of a communicator that is not blocking, they are in_background().
  Ticket queue(std::span<const Operation> operations, int ranks, bool counts = true);
  /// Waits until everything with a smaller position has left.
  void enter(const Ticket& ticket) { order_.enter(ticket.number); }
  void leave(const Ticket& ticket);

  /// Something was queued once: from then on every operation waits until it is its turn.
  bool used() const { return used_; }
  void set_used() { used_ = true; }
  /// Whether calls return when their operations are done.
  bool blocking() const { return blocking_; }
  /// Calls that go on in the background.
  bool in_background() const { return in_background_.load() != 0; }
  /// The thread of operations that belong to no stream; started on first use. Errors: those of
  /// HostStream::create.
  Result<device::HostStream*> background();
  /// Carries out what the thread was given, then ends it.
  void stop() { background_.reset(); }

  /// Lets everybody in who waits to be admitted.
  void abort() { admission_.abort(); }
  bool idle() const { return order_.idle(); }
  void wait_idle() { order_.wait_idle(); }
  /// A line in the log about what waited, where anything is limited.
  void log_counters() const;

 private:
  const bool blocking_;
  bool used_ = false;
  std::atomic<int64_t> in_background_{0};
  TicketOrder order_;
  Admission admission_;
  std::unique_ptr<device::HostStream> background_;
};

}  // namespace weir::core
