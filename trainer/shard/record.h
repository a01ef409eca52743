// SPDX-License-Identifier: Apache-2.0
/// Times of collectives, and how long the caller waited for them.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "trainer/shard/calls.h"

namespace weir::shard {

enum class Kind { gather, reduce, move, sum };

/// One collective, in milliseconds since the pass began.
struct Interval {
  Kind kind = Kind::gather;
  int unit = 0;
  double begin_ms = 0;
  double end_ms = 0;
};

struct PassCounts {
  uint64_t gathers = 0;
  uint64_t gather_bytes = 0;  ///< received by this rank from others
  uint64_t reductions = 0;
  uint64_t reduce_bytes = 0;        ///< bytes sent by this rank; a ring is assumed if the library chooses
  uint64_t part_bytes = 0;          ///< bytes moved between stages or summed over slices of a model
  double gather_wait_ms = 0;        ///< time for which the caller waited for gathers
  double reduce_wait_ms = 0;        ///< time for which the caller waited for reductions
  double part_wait_ms = 0;          ///< time for which the caller waited for parts of the model
  std::vector<Interval> intervals;  ///< intervals that have ended
};

/// Used by one thread at a time.
class PassRecord {
 public:
  /// Events before and after the calls that are queued in between.
  struct Mark {
    Event begin, end;
  };

  /// Records host streams, and the streams of `gpu` if it is given.
  static Result<PassRecord> make(GpuOps* gpu = nullptr);

  /// Clears the previous pass.
  Status begin();
  Result<Mark> start(const Stream& stream);
  Status stop(Mark& mark, const Stream& stream) { return mark.end.record(stream); }
  /// Waits for the end of a mark and keeps its times; `what` is the beginning of the error message. The
  /// stream is checked for errors, because the event is reached in any case.
  Status wait(Mark& mark, const Stream& stream, Kind kind, int unit, const char* what);
  /// Records an operation of this thread from `since_ns` (now_ns()) to now.
  void add(Kind kind, uint64_t since_ns);
  /// Adds the time since `since_ns` to the caller's waiting time.
  void waited(Kind kind, uint64_t since_ns);
  static uint64_t now_ns();
  /// The beginning of the pass, as a value of now_ns().
  uint64_t begun_ns() const { return begun_ns_; }

  PassCounts counts;

 private:
  PassRecord(Event base, Event host_base) : base_(std::move(base)), host_base_(std::move(host_base)) {}
  const Event& base_of(const Stream& stream) const { return stream.gpu() != nullptr ? base_ : host_base_; }

  Event base_;  ///< start of the pass on the GPU's streams, or the host's
  Event host_base_;
  uint64_t begun_ns_ = 0;
};

}  // namespace weir::shard
