// SPDX-License-Identifier: Apache-2.0
/// Copies into memory that another core has read before and reads next, as the slots of a channel.
///
/// Stores through the cache take less time between cores that share one, non-temporal stores between cores of
/// different dies or sockets, where every line of a cached store costs a round trip (docs/lab/changes.md).
/// The system may move either process at any time, and virtual machines do not tell where. So copies are
/// timed, and now and then a few go the other way.
///
/// Not thread-safe. Never allocates; reads the clock twice for a copy of at least kLeastTimed bytes.
/// Tests: tests/device/handed_copies_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::device {

/// Chooses between two ways of doing the same thing, by what each has cost lately.
class TwoWays {
 public:
  /// The way of the next use: 0 or 1. took() must follow.
  int next() const { return tries_other_ ? 1 - best_ : best_; }
  /// `cost` of that use, in any unit; the lowest of several neighbours counts, as others may take the core.
  void took(float cost);

 private:
  static constexpr int kUses =
      4;  ///< neighbours that are compared: the first ones may find the other way's traces

  void end_round();

  int best_ = 0;
  bool tries_other_ = false;
  int uses_ = 0;             ///< of this round of kUses
  float lowest_ = 0;         ///< cost in this round
  float known_ = 0;          ///< cost of the best way, in its last round; 0: none yet
  int rounds_to_trial_ = 2;  ///< before the other way is tried
  int rounds_since_ = 0;     ///< since it was tried
};

class HandedCopies {
 public:
  static constexpr size_t kLeastTimed = 16384;

  /// Non-temporal stores of at least twice kLeastTimed count as if they took `streaming_weight` of their
  /// time; below 1 where a reader of another core gains by them: it then need not fetch lines that the
  /// writer's core holds. With fewer bytes the end of the stores, which the reader waits for, takes as long.
  explicit HandedCopies(float streaming_weight = 1) : streaming_weight_(streaming_weight) {}

  /// Like device::copy() with Traffic::handed. All bytes are visible to other cores before what the caller
  /// stores next with release order.
  void copy(void* dst, const void* src, size_t bytes);

 private:
  static constexpr size_t kClasses = 8;  ///< of sizes, each twice as large as the one before

  float streaming_weight_;
  std::array<TwoWays, kClasses> ways_;
};

}  // namespace weir::device
