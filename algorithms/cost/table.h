// SPDX-License-Identifier: Apache-2.0
/// Selects the algorithm of the catalogue for a collective, by size, from predicted times.
///
/// Pure functions and plain values: thread-safe. Depends only on its arguments, so that ranks with the same
/// arguments choose the same.
/// Tests: tests/algorithms/cost_table_test.cc
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cost/profile.h"
#include "src/base/bytes.h"

namespace weir::cost {

/// An algorithm and its predicted time in seconds. `entry` may be null: there is none.
///
/// Data that passes along a chain of ranks arrives sooner in small tiles, and takes less work in large ones.
/// Tiles are therefore everything that fits into a message, or a half or a quarter of it, but never so small
/// that messages of 64 KiB could hold them, and not a whole chunk if smaller chunks are divided: whichever is
/// predicted to be the fastest, and the larger one if it makes no difference.
struct Estimate {
  const algorithms::Entry* entry = nullptr;
  double seconds = 0;
  int tile_divisor = 1;  ///< tiles are at most this fraction of what fits: 1, 2 or 4
};

struct Choice {
  Estimate best;
  Estimate runner_up;
};

/// Sizes with the same algorithm and tile size.
struct Row {
  size_t least = 0;  ///< bytes of a block
  size_t most = 0;
  Choice at_least;  ///< times for the least size
  Choice at_most;   ///< times for the greatest size
};

using Allowed = std::function<bool(const algorithms::Entry&)>;

class CostTable {
 public:
  /// Considers all entries for `kind` that `allowed` accepts (null: all but is_for_rank_order()) and that can
  /// run in this environment: entries that pull need shared scratch, and messages must fit into slots. The
  /// root is assumed to be position 0. Beyond kMostRanks, plans with very many moves are not made: their
  /// profiles are extrapolated from smaller ones (growth.h). Takes milliseconds.
  CostTable(Collective kind, const Environment& around, const Allowed& allowed = nullptr);

  /// The table as bytes, for other processes with the same catalogue; they choose the same.
  Bytes encode() const;
  /// Nullopt for bytes that are no table.
  static std::optional<CostTable> decode(BytesView bytes);

  static constexpr int kMostRanks = 256;

  /// For blocks of `bytes`: the fastest; among nearly equally fast ones the one with the least load on links
  /// and borders, so that other traffic has more, then with the least load on the busiest of them. For less
  /// load it may also be slower by the cost of several senders to one rank. Sizes between powers of two
  /// choose like the power of two below. best.entry is null if nothing is allowed.
  const Choice& at(size_t bytes) const {
    return choices_[std::min(static_cast<size_t>(std::bit_width(bytes)), kClasses - 1)];
  }
  /// The choices from one byte to 2^40 - 1; sizes with the same best algorithm and tiles are merged.
  std::vector<Row> rows() const;
  /// The algorithm with its best tiles; no entry if it is not among the candidates.
  Estimate estimate(std::string_view algorithm, size_t bytes) const;
  /// The maximum bytes of a chunk in a pass of the algorithm, undivided; 0 if it is not among the candidates.
  size_t tile_bytes(std::string_view algorithm) const;
  /// The predicted time of the algorithm; negative if it is not among the candidates.
  double seconds(std::string_view algorithm, size_t bytes) const;

 private:
  static constexpr size_t kClasses = 41;  ///< one class per number of significant bits

  struct Candidate {
    const algorithms::Entry* entry;
    Profile profile;
    int most_divisor;  ///< maximum divisor of its tiles
    /// Seconds per byte of a block: of all links and borders together, and of the busiest of them. Sums that
    /// differ only by rounding are equal.
    std::pair<float, float> burden;

    int least_divisor(double bytes) const;
    Estimate estimate(double bytes) const;
    /// Predicted seconds without the cost of several senders to one rank.
    double unmerged_seconds(double bytes) const;
  };
  explicit CostTable(std::vector<Candidate> candidates);
  static std::vector<Candidate> candidates_for(Collective kind, const Environment& around,
                                               const Allowed& allowed);
  Choice choose(double bytes) const;

  std::vector<Candidate> candidates_;
  std::array<Choice, kClasses> choices_;
};

/// One line per row: sizes, algorithm, predicted times, tiles if they are divided, runner-up.
std::vector<std::string> lines_of(const CostTable& table);

}  // namespace weir::cost
