// SPDX-License-Identifier: Apache-2.0
/// Whole parameters of units, gathered ahead of their use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/shard/arena.h"
#include "trainer/shard/arrays.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/layout.h"
#include "trainer/shard/limiter.h"
#include "trainer/shard/record.h"
#include "trainer/shard/visits.h"
#include "weir/status.h"

namespace weir::shard {

struct GatherOptions {
  bool reshard = true;       ///< release after every use, not only after the last one of a pass
  int forward_prefetch = 1;  ///< visits ahead of the present one, at least 0
  int backward_prefetch = 1;
  Precision precision = Precision::float32;  ///< of what travels
  LimiterOptions limiter;                    ///< without effect where `reshard` is false
  GpuOps* gpu = nullptr;                     ///< whose memory all arrays are in; null: the host's
};

/// Gathers are queued in the order of visits on every rank, whatever the limiter does, so ranks never wait
/// for each other's order. Used by one thread at a time.
class Gathers {
 public:
  /// What a unit takes while it is gathered: as fp32, and as bf16 where that travels.
  static size_t bytes_of(const Cut& cut, Precision precision);

  /// `masters` has this rank's shard of each unit, padded, and outlives this; so does `record`. `place` is
  /// the rank's in `comm`, which is empty when there is one shard. invalid_argument when the limiter's bytes
  /// do not hold the largest unit.
  static Result<Gathers> make(std::vector<Unit> units, std::vector<Cut> cuts, std::vector<float*> masters,
                              Communicator comm, const GatherOptions& options, PassRecord& record);

  /// Starts a pass, and the first gathers. REQUIRES: finished().
  Status begin(const Visits& visits);
  /// Whether all visits of the pass were made.
  bool finished() const { return position_ == visits_.count(); }
  /// The visit that is to come or under way. REQUIRES: !finished().
  Visit visit() const { return visits_.at(position_); }

  /// The parameters of the unit that the present visit is to; waits until they are there, and queues gathers
  /// for the next ones. invalid_usage for another unit. Valid until release().
  Result<std::span<const float>> gathered(int unit);
  /// Ends the visit. invalid_usage without gathered().
  Status release(int unit);

  const LimiterCounts& limiter() const { return limiter_.counts(); }
  /// Of the memory that gathered parameters are taken from.
  size_t capacity() const { return arena_ ? arena_->capacity() : 0; }
  Communicator& communicator() { return comm_; }
  Stream& stream() { return stream_; }

 private:
  struct Resident {
    char* block = nullptr;  ///< fp32 of the whole unit, then bf16 of it
    bool queued = false;
    bool arrived = false;
    std::optional<PassRecord::Mark> mark;
  };

  Gathers(std::vector<Unit> units, std::vector<Cut> cuts, std::vector<float*> masters, Communicator comm,
          const GatherOptions& options, PassRecord& record, Stream stream, std::optional<Arena> arena);
  Status check(int unit, const char* function) const;
  bool needs_memory() const { return shared() || options_.precision == Precision::bfloat16; }
  bool shared() const { return comm_.handle() != nullptr; }
  Status prefetch(int until);
  /// False: not admitted.
  Result<bool> queue(int position);
  Status make_halves(int unit);
  Status wait(int unit);
  uint16_t* wire(int unit) const;

  std::vector<Unit> units_;
  std::vector<Cut> cuts_;
  std::vector<float*> masters_;
  Communicator comm_;
  GatherOptions options_;
  PassRecord* record_;
  std::optional<Arena> arena_;
  Limiter limiter_;
  Visits visits_;
  std::vector<Resident> residents_;
  Arrays arrays_;
  std::vector<Memory> halves_;  ///< own shards as bf16, once they were gathered
  int position_ = 0;
  int next_ = 0;  ///< the first position whose gather was not looked at
  uint64_t asked_ = 0;
  bool visiting_ = false;
  Stream stream_;  ///< last: its end waits for what uses the rest
};

}  // namespace weir::shard
