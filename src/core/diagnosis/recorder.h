// SPDX-License-Identifier: Apache-2.0
/// The flight recorder of one rank of a communicator: its last operations and what went along its channels,
/// in memory that is allocated once. It is also what the rank tells others of its calls; where nothing is to
/// be recorded, it remembers the last few for them.
///
/// Writing is some plain stores: no locks, no allocation, no system call. The clock is read for operations of
/// many bytes or with a plan, for every 64th of the others, and for those that wait for long; the times of
/// the rest are those of the one before that has any.
///
/// begin(), plan(), waits_since() and end() are called by the thread that carries operations out. Everything
/// const may be called from any thread at any time.
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

namespace weir::core {

/// An operation as it is remembered.
struct RecordedOperation {
  uint64_t number = 0;     ///< counts what the communicator has begun from 1
  uint64_t sequence = 0;   ///< of the call of all ranks, from 1; sends and receives have that of the last one
  uint64_t what = 0;       ///< Activity::pack
  uint64_t count = 0;      ///< Operation::count
  uint32_t signature = 0;  ///< 0: not to be compared
  const char* plan = nullptr;  ///< name in the catalogue; null: none, or the exchange
  int64_t begun_ns = 0;        ///< now_ns(); 0: nobody knows
  bool exact = false;          ///< else begun_ns is that of an operation before
  int64_t ended_ns = 0;        ///< 0: it has not ended, or nobody knows
  bool ended = false;
};

/// What one end of a channel has carried.
class ChannelCounters {
 public:
  ChannelCounters(Rank peer, uint32_t number, bool sends, std::string transport)
      : peer(peer), number(number), sends(sends), transport(std::move(transport)) {}

  /// By one thread at a time.
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
  /// Operations of fewer bytes are timed now and then only.
  static constexpr size_t kTimedBytes = 64 << 10;
  static constexpr size_t kDefaultCapacity = 128;

  /// What begins.
  struct Begun {
    uint64_t sequence = 0;
    uint32_t signature = 0;
    Collective kind = Collective::send_recv;  ///< that of `what`
    uint64_t what = 0;
    uint64_t count = 0;
    size_t bytes = 0;
    bool beside = false;  ///< one more of the group whose first has begun
  };
  /// Of one kind of operation.
  struct Count {
    uint64_t begun = 0;
    uint64_t ended = 0;
    uint64_t bytes = 0;  ///< of the counts of the calls, each once
  };

  /// Remembers the last `capacity` operations, rounded up to a power of two; 0: nothing is recorded.
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
    if (on()) start_clock(entry, number, begun.bytes >= kTimedBytes);
    entry.number.store(number, std::memory_order_release);
    begun_.store(number, std::memory_order_release);
    if (!on()) return;
    Counters& counters = counters_[static_cast<size_t>(begun.kind)];
    add(counters.begun, 1);
    add(counters.bytes, begun.bytes);
  }
  /// What was begun last goes by this plan; `name` lives for ever.
  void plan(const char* name) {
    if (!on()) return;
    Entry& entry = last();
    entry.plan.store(name, std::memory_order_release);
    time(entry, now_ns());
  }
  /// What was begun last waits, in vain since then at least.
  void waits_since(int64_t ns) {
    if (!on() || begun_.load(std::memory_order_relaxed) == ended_.load(std::memory_order_relaxed)) return;
    if (Entry& entry = last(); timed_ == nullptr) time(entry, ns);
  }
  /// All that was begun has ended.
  void end() {
    if (!on()) return;
    if (timed_ != nullptr) {
      timed_->ended_ns.store(now_ns(), std::memory_order_release);
      timed_ = nullptr;
    }
    ended_.store(begun_.load(std::memory_order_relaxed), std::memory_order_release);
  }

  /// What was recorded so far is nobody's. REQUIRES: nothing is under way.
  void forget();

  /// Null where nothing is recorded.
  std::shared_ptr<ChannelCounters> add_channel(Rank peer, uint32_t number, bool sends, std::string transport);

  /// By Collective.
  std::array<Count, kCollectives> counts() const;
  /// The latest `most` that are remembered, oldest first.
  std::vector<RecordedOperation> recent(size_t most) const;
  /// The latest with this sequence number, if it is remembered (without times): of a group the first, or what
  /// is left of it. Also where nothing is recorded.
  std::optional<RecordedOperation> with_sequence(uint64_t sequence) const;
  std::vector<std::shared_ptr<const ChannelCounters>> channels() const;

 private:
  static constexpr uint64_t kTimedEach = 64;
  static constexpr size_t kForOthers = 16;  ///< operations that are remembered at least
  static constexpr uint64_t kBeside = uint64_t{1} << 32;

  /// `number` is 0 while the rest changes.
  struct alignas(64) Entry {
    std::atomic<uint64_t> number{0};
    std::atomic<uint64_t> sequence{0};
    std::atomic<uint64_t> what{0};
    std::atomic<uint64_t> count{0};
    std::atomic<uint64_t> mark{0};  ///< signature, kBeside
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
  void start_clock(Entry& entry, uint64_t number, bool timed) {
    entry.begun_ns.store(timed || number % kTimedEach == 1 ? now_ns() : 0, std::memory_order_release);
    entry.ended_ns.store(0, std::memory_order_release);
    entry.plan.store(nullptr, std::memory_order_release);
    if (timed) timed_ = &entry;
  }
  /// Its end will be timed, too.
  void time(Entry& entry, int64_t ns) {
    if (entry.begun_ns.load(std::memory_order_relaxed) == 0)
      entry.begun_ns.store(ns, std::memory_order_release);
    timed_ = &entry;
  }
  /// False: it is written over. `beside`: it is not the first of its group.
  bool read(uint64_t number, RecordedOperation& out, bool& beside) const;

  const size_t capacity_;
  const size_t mask_;
  const std::unique_ptr<Entry[]> entries_;
  Entry* timed_ = nullptr;  ///< what is under way and has its end timed; null: none
  std::atomic<uint64_t> begun_{0};
  std::atomic<uint64_t> ended_{0};
  std::array<Counters, kCollectives> counters_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ChannelCounters>> channels_;  ///< guarded by mutex_
};

}  // namespace weir::core
