// SPDX-License-Identifier: Apache-2.0
/// Whole parameters of units, gathered before their use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/shard/arena.h"
#include "trainer/shard/arrays.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/layout.h"
#include "trainer/shard/limiter.h"
#include "trainer/shard/precision.h"
#include "trainer/shard/record.h"
#include "trainer/shard/visits.h"

namespace weir::shard {

struct GatherOptions {
  bool reshard = true;       ///< release after every use, not only after the last one of a pass
  int forward_prefetch = 1;  ///< number of visits gathered ahead of the current one, at least 0
  int backward_prefetch = 1;
  Precision precision = Precision::float32;  ///< precision in which parameters are sent
  LimiterOptions limiter;                    ///< ignored if `reshard` is false
  GpuOps* gpu = nullptr;                     ///< GPU with all arrays; null: host memory
  Place place = {};                          ///< of this rank; has the group of a secondary copy
};

/// Gathers are queued in the order of visits on every rank, whatever the limiter does, so that the order of
/// gathers is the same on all ranks. Used by one thread at a time.
class Gathers {
 public:
  /// Bytes of a gathered unit: as fp32, and as bf16 if parameters are sent in that precision. What the
  /// library keeps of those that are quantized is not counted.
  static size_t bytes_of(const Cut& cut, Precision precision);

  /// `masters` has this rank's shard of each unit, padded; it outlives this, as does `record`. `place` is the
  /// rank's position in `comm`, which is empty if there is one shard. `group` has the ranks that share a
  /// secondary copy of gathered parameters, or is empty: then all gathers are over `comm`. invalid_argument
  /// if the limiter's bytes are fewer than those of the largest unit.
  static Result<Gathers> make(std::vector<Unit> units, std::vector<Cut> cuts, std::vector<float*> masters,
                              Communicator comm, Communicator group, const GatherOptions& options,
                              PassRecord& record);

  /// Starts a pass, and the first gathers. REQUIRES: finished().
  Status begin(const Visits& visits);
  /// Whether all visits of the pass were made.
  bool finished() const { return position_ == visits_.count(); }
  /// The current or next visit. REQUIRES: !finished().
  Visit visit() const { return visits_.at(position_); }

  /// The parameters of the unit of the current visit; waits until they have arrived, and queues gathers for
  /// the next visits. invalid_usage for another unit. Valid until release().
  Result<std::span<const float>> gathered(int unit);
  /// Ends the visit. invalid_usage without gathered().
  Status release(int unit);

  const LimiterCounts& limiter() const { return limiter_.counts(); }
  /// Size of the memory from which gathered parameters are allocated, in bytes.
  size_t capacity() const { return arena_ ? arena_->capacity() : 0; }
  /// Bytes of this rank's part of the secondary copy.
  size_t secondary_bytes() const;
  Communicator& communicator() { return comm_; }
  /// Ends calls in flight with an error.
  void abort();
  Stream& stream() { return stream_; }

 private:
  struct Resident {
    char* block = nullptr;  ///< the whole unit as fp32, followed by bf16
    bool queued = false;
    bool arrived = false;
    std::optional<PassRecord::Mark> mark;
  };

  Gathers(std::vector<Unit> units, std::vector<Cut> cuts, std::vector<float*> masters, Communicator comm,
          Communicator group, const GatherOptions& options, PassRecord& record, Stream stream,
          std::optional<Arena> arena);
  Status check(int unit, const char* function) const;
  bool needs_memory() const { return shared() || options_.precision != Precision::float32; }
  bool shared() const { return comm_.handle() != nullptr; }
  Status prefetch(int until);
  /// Returns false if the gather is not admitted.
  Result<bool> queue(int position);
  Status send(int unit);
  Status keep_secondary(int unit);
  Status make_halves(int unit);
  Status wait(int unit);
  uint16_t* wire(int unit) const;

  std::vector<Unit> units_;
  std::vector<Cut> cuts_;
  std::vector<float*> masters_;
  Communicator comm_;
  Communicator group_;  ///< empty: there is no secondary copy
  GatherOptions options_;
  PassRecord* record_;
  std::optional<Arena> arena_;
  Limiter limiter_;
  Visits visits_;
  std::vector<Resident> residents_;
  Arrays arrays_;
  /// Index: unit; this rank's part of the secondary copy, an equal part per rank of the group.
  std::vector<Memory> secondary_;
  std::vector<bool> has_secondary_;  ///< index: unit; whether it was gathered in this pass
  std::vector<Memory> halves_;       ///< the rank's own shards as bf16, kept after their first gather
  int position_ = 0;
  int next_ = 0;  ///< first position whose gather was not considered yet
  uint64_t asked_ = 0;
  bool visiting_ = false;
  Stream stream_;  ///< last member: its destructor waits for operations that use the others
};

}  // namespace weir::shard
