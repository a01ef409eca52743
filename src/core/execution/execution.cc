// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/execution.h"

#include <algorithm>
#include <new>

#include "src/core/call/operation_summary.h"
#include "src/core/call/signature.h"
#include "src/core/channels/link_speeds.h"
#include "src/core/channels/profiler_feed.h"
#include "src/core/execution/value_check.h"
#include "src/exec/exchange_area.h"

namespace weir::core {
namespace {

using exec::Progress;

/// How often a blocked thread that waits in vain looks at the time and asks about its peers.
constexpr int64_t kLookEveryNs = 20'000'000;

}  // namespace

Execution::Execution(const Dependencies& dependencies) : dependencies_(dependencies) {
  for (int t = 0; t < kDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    if (is_float(type)) average_factors_[static_cast<size_t>(t)] = device::ratio(type, 1, dependencies.ranks);
  }
}

void Execution::begin(std::span<const Operation> operations) {
  operations_ = operations;
  next_ = 0;
  pairs_begun_ = false;
  finished_ = false;
  task_ = nullptr;
  opening_ = false;
  if (!status_.ok()) status_ = {};
  if (dependencies_.profile != nullptr) [[unlikely]]
    dependencies_.profile->begin_group(operations);
}

Progress Execution::advance() {
  for (;;) {
    if (task_ == nullptr) {
      if (next_ == operations_.size()) {
        finished_ = true;
        if (dependencies_.profile != nullptr) [[unlikely]]
          dependencies_.profile->end_group();
        return Progress::done;
      }
      if (aborted_.load(std::memory_order_relaxed)) return fail(aborted_status());
      if (!begin_next()) return Progress::failed;
      if (task_ == nullptr) continue;
    }
    if (opening_) {
      auto ready = dependencies_.links->ready();
      if (!ready.ok())
        return fail(dependencies_.watchdog->explain(dependencies_.links->not_ready(), ready.status()));
      if (!*ready) return Progress::blocked;
      opening_ = false;
      if (prepared_ != nullptr) prepared_->run->start(work_);
    }
    const Progress progress = task_->advance();
    if (progress == Progress::failed) return fail(explain(task_->error()));
    if (progress != Progress::done) return progress;
    task_ = nullptr;
    if (const auto* const done = std::get_if<CollectiveOp>(&operations_[next_ - 1]);
        done != nullptr && done->bias != nullptr) [[unlikely]]
      add_bias(*done);
    dependencies_.activity->end();
    if (dependencies_.profile != nullptr) [[unlikely]]
      dependencies_.profile->end_task();
  }
}

inline bool Execution::is_exchanged(const CollectiveOp& operation) const {
  if (!dependencies_.exchanged[static_cast<size_t>(operation.kind)] || operation.plan != nullptr)
    return false;
  if (dependencies_.selector == nullptr) [[likely]]
    return true;
  return !dependencies_.selector->wants_plan(operation.kind, operation.root,
                                             operation.count * size_of(operation.type));
}

/// The signature, or 0 where nobody compares it. Calls mostly are as the one before: then the branch is
/// foreseen, and what waits for the mark does not wait for the hash.
inline uint32_t Execution::mark_of(const CollectiveOp& operation) {
  if (!dependencies_.check) return 0;
  const uint64_t what = pack(summary_of(operation));
  if (what != marked_what_ || operation.count != marked_count_) [[unlikely]] {
    marked_what_ = what;
    marked_count_ = operation.count;
    mark_ = signature(operation);
  }
  return mark_;
}

/// False: failed.
bool Execution::begin_next() {
  const Operation& next = operations_[next_++];
  const auto* const collective = std::get_if<CollectiveOp>(&next);
  if (collective == nullptr) return begin_point_to_point(next);
  const CollectiveOp& operation = *collective;
  uint32_t mark = mark_of(operation);
  if (operation.plan != nullptr && dependencies_.check) [[unlikely]]
    mark ^= operation.plan->digest;
  ++sequence_;
  lay_out(operation, mark);
  const bool exchanged = operation.count > 0 && is_exchanged(operation);
  ValueCheck* const values = dependencies_.values;
  const bool looks_later = values != nullptr && exchanged && may_look_later(operation);
  if (values != nullptr && !looks_later && values->is_bad(operation) && !note_bad_values(operation, mark))
      [[unlikely]]
    return false;
  if (exchanged) {
    if (dependencies_.profile != nullptr) [[unlikely]]
      dependencies_.profile->begin_collective(next_ - 1, sequence_, {}, 0);
    dependencies_.shm_collectives->start(operation.kind, work_);
    dependencies_.activity->begin(sequence_, mark,
                                  summary_of(operation));  // now that the peers need not wait for it
    if (looks_later && values->is_bad(operation)) [[unlikely]]
      note_bad_values(operation, mark);
    task_ = dependencies_.shm_collectives;
    return true;
  }
  dependencies_.activity->begin(sequence_, mark, summary_of(operation));
  if (operation.count == 0) {
    dependencies_.activity->end();
    return true;
  }
  const size_t bytes = operation.count * size_of(operation.type);
  if (dependencies_.speeds != nullptr) dependencies_.speeds->note(bytes);
  SelectedPlan chosen;
  if (operation.plan == nullptr) [[likely]]
    chosen = dependencies_.plans->hit(operation.kind, operation.root, bytes);
  if (chosen.plan == nullptr) {
    auto found = operation.plan != nullptr ? dependencies_.plans->prepare(*operation.plan)
                                           : dependencies_.plans->find(operation.kind, operation.root, bytes);
    if (!found.ok()) {
      fail(explain_opening(found.status()));
      return false;
    }
    chosen = *found;
  }
  prepared_ = chosen.plan;
  dependencies_.activity->recorder().plan(prepared_->plan, !dependencies_.rings);
  if (dependencies_.profile != nullptr) [[unlikely]]
    dependencies_.profile->begin_collective(next_ - 1, sequence_, prepared_->algorithm,
                                            prepared_->program->lanes.size());
  work_.tile_bytes = chosen.tile_bytes;
  task_ = prepared_->run.get();
  opening_ = !dependencies_.links->settled();
  if (!opening_) prepared_->run->start(work_);
  return true;
}

/// Whether the values of an exchanged operation are looked at when the peers need not wait for it any more:
/// where a bad one is only warned of, and nobody else touches the input, because it is sent as a copy.
bool Execution::may_look_later(const CollectiveOp& operation) const {
  return !dependencies_.values->refuses() &&
         operation.count * size_of(operation.type) <= exec::InlineMessage::kBytes;
}

/// False: failed, as have all ranks.
bool Execution::note_bad_values(const CollectiveOp& operation, uint32_t mark) {
  const Status bad = dependencies_.values->note(operation, sequence_);
  if (bad.ok()) return true;
  dependencies_.activity->begin(sequence_, mark, summary_of(operation));
  fail(dependencies_.watchdog->fail({dependencies_.rank, bad}));
  return false;
}

bool Execution::begin_point_to_point(const Operation& operation) {
  return is_pair(operation) ? pairs_begun_ || begin_pairs() : begin_one_sided(operation);
}

/// All sends and receives of the group go side by side, at the place of the first.
bool Execution::begin_pairs() {
  pairs_begun_ = true;
  if (dependencies_.speeds != nullptr) dependencies_.speeds->note(bytes_of(operations_[next_ - 1]));
  if (dependencies_.profile != nullptr) [[unlikely]]
    dependencies_.profile->begin_pairs();
  const Status begun = dependencies_.pairs->start(operations_, dependencies_.check);
  opening_ = !dependencies_.links->settled();
  if (begun.ok() && !opening_) [[likely]]
    dependencies_.pairs->send_first();
  dependencies_.activity->begin(
      sequence_, 0,
      summary_of(operations_[next_ - 1]));  // now that the peers need not wait for it
  for (const Operation& other : operations_.subspan(next_)) {
    if (is_pair(other)) dependencies_.activity->note(sequence_, summary_of(other));
  }
  if (!begun.ok()) {
    fail(explain_opening(begun));
    return false;
  }
  prepared_ = nullptr;
  task_ = dependencies_.pairs;
  return true;
}

bool Execution::begin_one_sided(const Operation& operation) {
  dependencies_.activity->begin(sequence_, 0, summary_of(operation));
  dependencies_.one_sided->start(operation);
  prepared_ = nullptr;
  task_ = dependencies_.one_sided;
  opening_ = false;
  return true;
}

/// Makes work_ of an operation. In place, field by field: reading it back at once would stall otherwise.
void Execution::lay_out(const CollectiveOp& operation, uint32_t mark) {
  work_.input = static_cast<const std::byte*>(operation.input);
  work_.output = static_cast<std::byte*>(operation.output);
  work_.count = operation.count;
  work_.type = operation.type;
  work_.op = operation.reduction.op;
  work_.scales = false;
  work_.divisor = 1;
  // The number is part of the mark, so that a call is not taken for the next one of the same kind.
  work_.tag = uint64_t{sequence_} << 32 | (dependencies_.check ? mark + sequence_ * 0x9e3779b1u : 0);
  if (!reduces(operation.kind)) return;
  if (operation.reduction.scaling == Reduction::Scaling::premultiply) {
    work_.scales = true;
    work_.factor = operation.reduction.factor;
  } else if (operation.reduction.scaling == Reduction::Scaling::average) {
    work_.scales = is_float(operation.type);
    work_.factor = average_factors_[static_cast<size_t>(operation.type)];
    work_.divisor = work_.scales ? 1 : dependencies_.ranks;
  }
}

void Execution::add_bias(const CollectiveOp& operation) {
  const void* const sources[] = {operation.output, operation.bias};
  device::fold(operation.type, operation.reduction.op, operation.output, sources, 2, operation.count);
}

Progress Execution::fail(Status status) {
  dependencies_.activity->fail_call();
  if (task_ != nullptr) task_->recall();
  if (dependencies_.profile != nullptr) [[unlikely]]
    dependencies_.profile->end_group();
  status_ = std::move(status);
  finished_ = true;
  return Progress::failed;
}

/// The task found that a peer called something else: the watchdog can say what.
Status Execution::explain(const Status& found) {
  // What a listener said of a put is no matter of calls that do not match; a listener that said nothing may
  // be gone.
  const Code unclear = task_ == dependencies_.one_sided ? Code::remote_error : Code::invalid_usage;
  return found.code() == unclear || found.is_shortage()
             ? dependencies_.watchdog->explain(task_->waiting_for(), found, task_)
             : found;
}

/// A peer to which no channel can be opened may be gone.
Status Execution::explain_opening(const Status& found) {
  const Rank peer = dependencies_.links->refused_by();
  return peer >= 0 ? dependencies_.watchdog->explain(peer, found) : found;
}

Status Execution::aborted_status() const {
  return {Code::invalid_usage,
          "the communicator was aborted (by ncclCommAbort, or by ncclCommShrink with NCCL_SHRINK_ABORT)"};
}

Rank Execution::waiting_for() const {
  return opening_ ? dependencies_.links->not_ready() : task_->waiting_for();
}

/// Of a thread that waits for long: ends the execution if it was aborted, if a channel broke, or if a peer is
/// to blame.
void Execution::look_around(int64_t waited_ns) {
  Status trouble;
  if (aborted_.load(std::memory_order_relaxed)) trouble = aborted_status();
  if (trouble.ok() && task_ != nullptr && !opening_) {
    Rank peer = waiting_for();
    trouble = task_->serve(peer);
    if (!trouble.ok()) trouble = dependencies_.watchdog->explain(peer, trouble, task_);
  }
  if (trouble.ok() && waited_ns >= kLookEveryNs && task_ != nullptr) {
    trouble = dependencies_.watchdog->examine(waiting_for(), waited_ns, opening_, task_);
  }
  if (!trouble.ok()) fail(std::move(trouble));
}

Status Execution::drive_on(std::span<Execution* const> executions) {
  Execution& first = *executions[0];
  if (executions.size() == 1) {  // the common case: done at once
    if (first.advance() == Progress::done) return {};
  }
  Waiter waiter(first.wait_policy(), first.dependencies_.doorbell);
  int64_t blocked_since = 0;
  int64_t looked = 0;
  const auto advance_all = [&] {
    bool moved = false;
    for (Execution* execution : executions) {
      if (!execution->finished_) moved |= execution->advance() != Progress::blocked;
    }
    return moved;
  };
  const auto all_finished = [&] {
    return std::all_of(executions.begin(), executions.end(), [](const Execution* e) { return e->finished_; });
  };
  const auto rings_needed = [&] {
    return executions.size() == 1 && !first.opening_ && first.task_ != nullptr ? first.task_->rings_needed()
                                                                               : 1;
  };
  while (!all_finished()) {
    if (advance_all() || waiter.pause(advance_all, rings_needed)) {
      waiter.progress();
      blocked_since = 0;
      continue;
    }
    const bool serves = !first.dependencies_.rings;
    if (!waiter.exhausted() && !serves && !first.aborted_.load(std::memory_order_relaxed)) continue;
    const int64_t now = now_ns();
    if (blocked_since == 0) blocked_since = looked = now;
    const int64_t waited = now - looked >= kLookEveryNs ? now - blocked_since : 0;
    if (waited > 0) looked = now;
    for (Execution* execution : executions) {
      if (!execution->finished_) execution->look_around(waited);
    }
  }
  for (const Execution* execution : executions) WEIR_TRY(execution->status_);
  return {};
}

Status drive(std::span<Execution* const> executions) {
  try {
    return Execution::drive_on(executions);
  } catch (const std::bad_alloc&) {
    // Programs in C could not catch it, and the others would only see a death.
    Status first;
    for (Execution* execution : executions) {
      if (!execution->finished_)
        execution->fail(execution->dependencies_.watchdog->exhausted(execution->task_));
      if (first.ok()) first = execution->status_;
    }
    return first;
  }
}

}  // namespace weir::core
