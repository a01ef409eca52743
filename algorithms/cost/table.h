// SPDX-License-Identifier: Apache-2.0
/// Which algorithm of the catalogue a collective takes, by size, and why: predicted times.
///
/// Pure functions and plain values: thread-safe. Depends on nothing but its arguments, so ranks that have the
/// same ones choose alike.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cost/profile.h"

namespace weir::cost {

/// An algorithm and the seconds that it is predicted to take. `entry` may be null: there is none.
///
/// What passes along a chain of ranks arrives sooner in small tiles, and is less work in large ones. So tiles
/// are the whole of what fits into messages, a half or a quarter of it, but never so small that messages of
/// 64 KiB could hold them, and not all of a chunk if a smaller one is not: whichever is predicted to be the
/// quickest, the larger one if it makes no difference.
struct Estimate {
  const algorithms::Entry* entry = nullptr;
  double seconds = 0;
  int tile_divisor = 1;  ///< tiles are at most this part of what fits: 1, 2 or 4
};

struct Choice {
  Estimate best;
  Estimate runner_up;
};

/// Sizes that take the same algorithm in tiles of the same size.
struct Row {
  size_t least = 0;  ///< bytes of a block
  size_t most = 0;
  Choice at_least;  ///< times for the least size
  Choice at_most;   ///< and for the most
};

using Allowed = std::function<bool(const algorithms::Entry&)>;

class Table {
 public:
  /// Of all entries for `kind` that `allowed` accepts (null: any) and that can run there: those that pull
  /// need shared scratch, and messages have to fit slots. Roots are taken to be place 0. Beyond kMostRanks,
  /// plans of very many moves are not made: their profiles grow out of smaller ones (growth.h). Costs
  /// milliseconds.
  Table(Collective kind, const Environment& around, const Allowed& allowed = nullptr);

  static constexpr int kMostRanks = 256;

  /// For blocks of `bytes`: the quickest, and of those that are as quick but for a hair the one that puts the
  /// least on links and across borders, so that what others use too is left to them, then on the busiest
  /// of them. For less of that it may also be slower by what senders to one rank cost each other. Sizes
  /// between powers of two choose like the power of two below. best.entry is null where nothing is allowed.
  const Choice& at(size_t bytes) const {
    return choices_[std::min(static_cast<size_t>(std::bit_width(bytes)), kClasses - 1)];
  }
  /// From one byte to 2^40 - 1, sizes with the same best algorithm and tiles merged.
  std::vector<Row> rows() const;
  /// The algorithm in its best tiles; no entry where it is not among the candidates.
  Estimate estimate(std::string_view algorithm, size_t bytes) const;
  /// What the algorithm is predicted to take; negative where it is not among the candidates.
  double seconds(std::string_view algorithm, size_t bytes) const;

 private:
  static constexpr size_t kClasses = 41;  ///< by the number of significant bits

  struct Candidate {
    const algorithms::Entry* entry;
    Profile profile;
    int most_divisor;  ///< of its tiles
    /// Seconds per byte of a block: of all links and borders together, and of the busiest of them. Sums
    /// that differ by their rounding are the same.
    std::pair<float, float> burden;

    int least_divisor(double bytes) const;
    Estimate estimate(double bytes) const;
    /// Seconds without what several senders to one cost each other.
    double unmerged_seconds(double bytes) const;
  };
  Choice choose(double bytes) const;

  std::vector<Candidate> candidates_;
  std::array<Choice, kClasses> choices_;
};

/// One line per row: sizes, algorithm, predicted times, tiles if they are not whole, runner-up.
std::vector<std::string> lines_of(const Table& table);

}  // namespace weir::cost
