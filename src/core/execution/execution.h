// SPDX-License-Identifier: Apache-2.0
/// Carries out the operations of one communicator rank, one after the other, without ever blocking: by shm
/// collectives, by a prepared plan, or as the pairs of a group.
///
/// drive() does the waiting: it advances one or several executions of this thread until all are done, sleeps
/// during long waits, and lets the watchdog find the culprit of very long ones.
///
/// Not thread-safe, except abort().
/// Tests: tests/conform/collectives_test.cc, tests/library/faults_test.cc
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <memory>
#include <span>

#include "src/base/doorbell.h"
#include "src/core/call/operation.h"
#include "src/core/channels/links.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/core/execution/one_sided.h"
#include "src/core/execution/pairs.h"
#include "src/core/planning/plan_cache.h"
#include "src/core/planning/selector.h"
#include "src/exec/shm_collectives.h"

namespace weir::core {

class ProfilerFeed;
class LinkSpeeds;
class ValueCheck;

class Execution {
 public:
  /// What an execution works with; all outlive it. `shm_collectives` may be null.
  struct Dependencies {
    Rank rank = 0;
    int ranks = 1;
    Links* links = nullptr;
    PlanCache* plans = nullptr;
    Pairs* pairs = nullptr;
    OneSidedTask* one_sided = nullptr;
    exec::ShmCollectives* shm_collectives = nullptr;
    std::bitset<kCollectives>
        exchanged;  ///< collectives that `shm_collectives` carries out; none if that is null
    Activity* activity = nullptr;
    Watchdog* watchdog = nullptr;
    Doorbell* doorbell = nullptr;
    bool rings =
        true;  ///< true: whatever this rank waits for rings the doorbell; false: it polls its transports
    WaitPolicy wait_policy;           ///< policy of waits for channels
    WaitPolicy shm_wait_policy;       ///< policy of waits in collectives through shared memory
    ProfilerFeed* profile = nullptr;  ///< null: there is no profiler plugin
    const Selector* selector =
        nullptr;                   ///< whoever may want a plan where ranks share memory; null: nobody does
    LinkSpeeds* speeds = nullptr;  ///< null: no transport is measured
    ValueCheck* values = nullptr;  ///< null: values are not looked at
    bool check = true;             ///< true: signatures are sent with operations and compared
  };
  explicit Execution(const Dependencies& dependencies);

  /// Begins operations that belong together. The span stays valid until finished(). REQUIRES: finished().
  void begin(std::span<const Operation> operations);
  bool finished() const { return finished_; }
  const Status& status() const { return status_; }

  /// Makes the operations in flight, and all later ones, end with an error. Any thread may call it.
  void abort() { aborted_.store(true, std::memory_order_relaxed); }
  const std::atomic<bool>& aborted() const { return aborted_; }

  exec::Progress advance();

 private:
  friend Status drive(std::span<Execution* const> executions);
  static Status drive_on(std::span<Execution* const> executions);

  bool is_exchanged(const CollectiveOp& operation) const;
  uint32_t mark_of(const CollectiveOp& operation);
  bool begin_next();
  bool may_look_later(const CollectiveOp& operation) const;
  bool note_bad_values(const CollectiveOp& operation, uint32_t mark);
  bool begin_point_to_point(const Operation& operation);
  bool begin_pairs();
  bool begin_one_sided(const Operation& operation);
  void lay_out(const CollectiveOp& operation, uint32_t mark);
  static void add_bias(const CollectiveOp& operation);
  exec::Progress fail(Status status);
  Status explain(const Status& found);
  Status explain_opening(const Status& found);
  Status aborted_status() const;
  const WaitPolicy& wait_policy() const {
    return dependencies_.shm_collectives != nullptr && task_ == dependencies_.shm_collectives
               ? dependencies_.shm_wait_policy
               : dependencies_.wait_policy;
  }
  Rank waiting_for() const;
  void look_around(int64_t waited_ns);

  const Dependencies dependencies_;
  std::array<device::Scalar, kDataTypes> average_factors_{};
  std::span<const Operation> operations_;
  size_t next_ = 0;
  bool pairs_begun_ = false;
  bool finished_ = true;
  bool opening_ = false;  ///< the task waits for its channels
  exec::Task* task_ = nullptr;
  Prepared* prepared_ = nullptr;  ///< plan to start when the channels are ready; null: it has started
  exec::Work work_;
  uint32_t sequence_ = 0;
  uint64_t marked_what_ = ~uint64_t{0};  ///< packed form (pack()) of the operation that has mark_
  uint64_t marked_count_ = 0;
  uint32_t mark_ = 0;
  Status status_;
  std::atomic<bool> aborted_{false};
};

/// Advances executions of this thread until all are done; their ranks may depend on each other. Returns the
/// first error.
Status drive(std::span<Execution* const> executions);

}  // namespace weir::core
