// SPDX-License-Identifier: Apache-2.0
/// The past of one link, in bounded memory: whether it has become slower than it was.
///
/// A link is compared with itself only, and only where its calls are alike: the size of calls, and how many
/// links share the network interface, change the speed of each. The speeds of kBlock intervals give a median;
/// kSlowBlocks medians in a row that are below kSlow times that of the past make a link slow. Medians of a
/// slow link do not become its past.
///
/// Not thread-safe.
/// Tests: tests/core/speed_record_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace weir::core {

class SpeedRecord {
 public:
  static constexpr size_t kBlock = 8;      ///< intervals of a median
  static constexpr size_t kLeastPast = 3;  ///< medians before anything is said
  static constexpr size_t kMostPast = 32;  ///< medians that are kept: of the whole past, ever farther apart
  static constexpr size_t kMostKinds = 8;  ///< kinds of calls that are kept
  static constexpr size_t kSlowBlocks = 2;
  static constexpr double kSlow = 0.67;      ///< below this fraction of its past a link is slow
  static constexpr double kRecovered = 0.8;  ///< above this fraction it is not any more

  /// What calls of an interval have in common.
  struct Kind {
    int size = 0;     ///< log2 of the mean bytes of a call
    int sharers = 0;  ///< links of this rank that were at work

    bool operator==(const Kind&) const = default;
  };
  enum class Change { none, slow, recovered };

  /// Adds the speed in an interval that has ended with call number `call`.
  Change add(const Kind& kind, double bytes_per_s, uint64_t call);

  bool slow() const { return !kinds_.empty() && kinds_.front().slow; }
  /// Of the kind seen last: the last median, that of the past (0: too short), and the call before the first
  /// one of the last median, or of the slow time.
  double now() const { return kinds_.empty() ? 0 : kinds_.front().median; }
  double past() const { return kinds_.empty() ? 0 : past_of(kinds_.front()); }
  uint64_t since() const { return kinds_.empty() ? 0 : kinds_.front().since; }

 private:
  struct One {
    Kind kind;
    std::array<double, kBlock> block{};
    size_t filled = 0;
    std::vector<double> past;
    size_t stride = 1;   ///< of so many medians one is kept
    size_t skipped = 0;  ///< since the last one that was kept
    double median = 0;
    uint64_t block_began = 0;  ///< the call before the block's first
    uint64_t since = 0;
    size_t slow_blocks = 0;
    bool slow = false;
  };

  static double past_of(const One& one);
  static Change judge(One& one);
  static void remember(One& one);

  std::list<One> kinds_;  ///< latest first
  uint64_t call_ = 0;     ///< of the last add()
};

}  // namespace weir::core
