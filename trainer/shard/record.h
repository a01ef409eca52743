// SPDX-License-Identifier: Apache-2.0
/// When collectives ran and how long the caller waited for them.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/shard/calls.h"
#include "weir/status.h"

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
  uint64_t reduce_bytes = 0;  ///< sent by this rank to others, as if by a ring where the library chooses
  uint64_t part_bytes = 0;    ///< moved between stages, or added up between slices, of a model
  double gather_wait_ms = 0;  ///< that the caller stood still
  double reduce_wait_ms = 0;  ///< likewise
  double part_wait_ms = 0;    ///< likewise
  std::vector<Interval> intervals;  ///< that are over
};

/// Used by one thread at a time.
class PassRecord {
 public:
  /// The begin and the end of what is queued between two calls.
  struct Mark {
    Event begin, end;
  };

  /// Of host streams, and those of `gpu` if there is one.
  static Result<PassRecord> make(GpuOps* gpu = nullptr);

  /// Forgets the last pass.
  Status begin();
  Result<Mark> start(const Stream& stream);
  Status stop(Mark& mark, const Stream& stream) { return mark.end.record(stream); }
  /// Waits for the end of a mark and keeps its times; `what` begins the error of the library. The stream's
  /// errors are asked for, as an event is reached in any case.
  Status wait(Mark& mark, const Stream& stream, Kind kind, int unit, const char* what);
  /// Keeps what ran on this thread from `since_ns` (now_ns()) on.
  void add(Kind kind, uint64_t since_ns);
  /// Adds time since `since_ns` to what the caller waited.
  void waited(Kind kind, uint64_t since_ns);
  static uint64_t now_ns();
  /// When the pass began, as now_ns().
  uint64_t begun_ns() const { return begun_ns_; }

  PassCounts counts;

 private:
  PassRecord(Event base, Event host_base) : base_(std::move(base)), host_base_(std::move(host_base)) {}
  const Event& base_of(const Stream& stream) const { return stream.gpu() != nullptr ? base_ : host_base_; }

  Event base_;  ///< when the pass began: of the GPU's streams, if there is one
  Event host_base_;
  uint64_t begun_ns_ = 0;
};

}  // namespace weir::shard
