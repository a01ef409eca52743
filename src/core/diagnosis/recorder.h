// SPDX-License-Identifier: Apache-2.0
/// The flight recorder of one rank of a communicator: its last operations and the traffic of its channels, in
/// memory that is allocated once. Other ranks' watchdogs read the calls from it too; if recording is off, it
/// keeps only the last few for them.
///
/// Writing takes a few plain stores: no locks, no allocation, no system call. Operations of many bytes, with
/// a plan, or with a long wait are all timed. Of the others, as many are timed as costs nothing (TimedCalls);
/// the rest get the time of the last timed one before them.
///
/// begin(), plan(), waits_since(), end() and stop() are called by the thread that carries operations out.
/// Everything const may be called from any thread at any time.
/// Tests: tests/core/recorder_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/base/types.h"
#include "src/core/diagnosis/timed_calls.h"

namespace weir::core {

/// A recorded operation.
struct RecordedOperation {
  uint64_t number = 0;     ///< counts the communicator's operations from 1
  uint64_t sequence = 0;   ///< call number, from 1, the same on all ranks; sends and receives: the last one
  uint64_t what = 0;       ///< pack() of operation_summary.h
  uint64_t count = 0;      ///< OperationSummary::count
  uint32_t signature = 0;  ///< 0: not to be compared
  const char* plan = nullptr;  ///< algorithm's name in the catalogue; null: none, or shm collectives
  int64_t begun_ns = 0;        ///< now_ns() at its begin; 0: unknown
  bool exact = false;          ///< false: begun_ns is that of an operation before
  int64_t ended_ns = 0;        ///< now_ns() at its end, or when it failed; 0: neither, or unknown
  bool ended = false;          ///< false: it is in flight, or has failed
};

/// Messages and bytes that one end of a channel has carried.
class ChannelCounters {
 public:
  ChannelCounters(Rank peer, uint32_t number, bool sends, std::string transport)
      : peer(peer), number(number), sends(sends), transport(std::move(transport)) {}

  /// Counts a message of `more` bytes. One thread at a time.
  void carried(uint64_t more) {
    bytes_.store(bytes_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    messages_.store(messages_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

  const Rank peer;
  const uint32_t number;  ///< LinkSpec::channel
  const bool sends;
  const std::string transport;

 private:
  std::atomic<uint64_t> bytes_{0}, messages_{0};
};

class Recorder {
 public:
  /// Operations of at least this many bytes are all timed.
  static constexpr size_t kTimedBytes = 64 << 10;
  static constexpr size_t kDefaultCapacity = 128;

  /// An operation that begins.
  struct Begun {
    uint64_t sequence = 0;
    uint32_t signature = 0;
    Collective kind = Collective::send_recv;  ///< kind of operation, as in `what`
    uint64_t what = 0;
    uint64_t count = 0;
    size_t bytes = 0;
    bool beside = false;  ///< true: a further operation of a group whose first has begun
  };
  /// Counts of one kind of operation.
  struct Count {
    uint64_t begun = 0;
    uint64_t ended = 0;
    uint64_t bytes = 0;  ///< sum over the calls of count times element size
  };

  /// Keeps the last `capacity` operations, rounded up to a power of two; 0: recording is off.
  explicit Recorder(size_t capacity)
      : capacity_(capacity == 0 ? 0 : std::bit_ceil(capacity)),
        mask_(std::max(capacity_, kForOthers) - 1),
        entries_(std::make_unique<Entry[]>(mask_ + 1)) {}

  bool on() const { return capacity_ != 0; }
  size_t capacity() const { return capacity_; }

  void begin(const Begun& begun) {
    const uint64_t number = begun_.load(std::memory_order_relaxed) + 1;
    Entry& entry = entries_[number & mask_];
    entry.number.store(0, std::memory_order_relaxed);
    entry.sequence.store(begun.sequence, std::memory_order_release);
    entry.what.store(begun.what, std::memory_order_release);
    entry.count.store(begun.count, std::memory_order_release);
    entry.mark.store(begun.signature | (begun.beside ? kBeside : 0), std::memory_order_release);
    if (on()) start_clock(entry, begun, number);
    entry.number.store(number, std::memory_order_release);
    begun_.store(number, std::memory_order_release);
    if (!on()) return;
    Counters& counters = counters_[static_cast<size_t>(begun.kind)];
    add(counters.begun, 1);
    add(counters.bytes, begun.bytes);
  }
  /// Sets the plan of the operation begun last; `name` must never be freed. `timed`: its times are recorded
  /// whatever its size, because it takes long compared with two looks at the clock.
  void plan(const char* name, bool timed) {
    if (!on()) return;
    Entry& entry = last();
    entry.plan.store(name, std::memory_order_release);
    if (timed) time(entry, now_ns());
  }
  /// Notes that the operation begun last has waited without progress since `ns` at the latest.
  void waits_since(int64_t ns) {
    if (!on() || begun_.load(std::memory_order_relaxed) == ended_.load(std::memory_order_relaxed)) return;
    if (Entry& entry = last(); timed_ == nullptr) time(entry, ns);
  }
  /// Marks all begun operations as ended.
  void end() {
    if (!on()) return;
    stop();
    ended_.store(begun_.load(std::memory_order_relaxed), std::memory_order_release);
  }
  /// Notes that the operations in flight go on no more. They have not ended: they have failed.
  void stop() {
    if (timed_ == nullptr) return;
    timed_->ended_ns.store(now_ns(), std::memory_order_release);
    timed_ = nullptr;
  }

  /// Counts a call whose input has a NaN or an infinity (WEIR_CHECK_VALUES).
  void note_bad_values() { add(bad_values_, 1); }
  uint64_t bad_values() const { return bad_values_.load(std::memory_order_relaxed); }

  /// Discards all records. REQUIRES: no operation is in flight.
  void forget();

  /// Counters for a channel end; null if recording is off.
  std::shared_ptr<ChannelCounters> add_channel(Rank peer, uint32_t number, bool sends, std::string transport);

  /// Counts, indexed by Collective.
  std::array<Count, kCollectives> counts() const;
  /// The latest recorded operations, at most `most`, oldest first.
  std::vector<RecordedOperation> recent(size_t most) const;
  /// The operation with this sequence number, without times, if still recorded: the first of a group, or the
  /// first that is left of it. Works also if recording is off.
  std::optional<RecordedOperation> with_sequence(uint64_t sequence) const;
  std::vector<std::shared_ptr<const ChannelCounters>> channels() const;

 private:
  static constexpr size_t kForOthers = 16;  ///< minimum number of operations kept
  static constexpr uint64_t kBeside = uint64_t{1} << 32;

  /// `number` is 0 while the other fields change.
  struct alignas(64) Entry {
    std::atomic<uint64_t> number{0};
    std::atomic<uint64_t> sequence{0};
    std::atomic<uint64_t> what{0};
    std::atomic<uint64_t> count{0};
    std::atomic<uint64_t> mark{0};  ///< signature, plus kBeside
    std::atomic<const char*> plan{nullptr};
    std::atomic<int64_t> begun_ns{0};
    std::atomic<int64_t> ended_ns{0};
  };
  struct Counters {
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> bytes{0};
  };

  static void add(std::atomic<uint64_t>& count, uint64_t more) {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  Entry& last() { return entries_[begun_.load(std::memory_order_relaxed) & mask_]; }
  void start_clock(Entry& entry, const Begun& begun, uint64_t number) {
    if (entry.begun_ns.load(std::memory_order_relaxed) != 0) {  // a load costs less than the stores
      entry.begun_ns.store(0, std::memory_order_release);
      entry.ended_ns.store(0, std::memory_order_release);
    }
    if (entry.plan.load(std::memory_order_relaxed) != nullptr)
      entry.plan.store(nullptr, std::memory_order_release);
    if (begun.bytes >= kTimedBytes) {
      time(entry, now_ns());
    } else if (timed_calls_.has(begun.kind == Collective::send_recv ? number : begun.sequence)) [[unlikely]] {
      const int64_t ns = now_ns();
      time(entry, ns);
      timed_calls_.timed(ns);
    }
  }
  /// Sets the begin of `entry` unless it has one; its end will be timed, too.
  void time(Entry& entry, int64_t ns) {
    if (entry.begun_ns.load(std::memory_order_relaxed) == 0)
      entry.begun_ns.store(ns, std::memory_order_release);
    timed_ = &entry;
  }
  /// The time of an operation before one that began at `ns`, though it may have been overwritten; 0: unknown.
  int64_t timed_before(int64_t ns) const;
  /// Reads operation `number`; false if it was overwritten. `beside`: it is not the first of its group.
  bool read(uint64_t number, RecordedOperation& out, bool& beside) const;

  const size_t capacity_;
  const size_t mask_;
  const std::unique_ptr<Entry[]> entries_;
  TimedCalls timed_calls_;
  Entry* timed_ = nullptr;  ///< operation in flight whose end will be timed; null: none
  std::atomic<uint64_t> begun_{0};
  std::atomic<uint64_t> ended_{0};
  std::atomic<uint64_t> bad_values_{0};
  std::array<Counters, kCollectives> counters_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ChannelCounters>> channels_;  ///< guarded by mutex_
};

}  // namespace weir::core
