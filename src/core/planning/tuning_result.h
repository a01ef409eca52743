// SPDX-License-Identifier: Apache-2.0
/// A tuner plugin's choices for a communicator: for each collective and class of sizes, an algorithm, or none
/// if the plugin keeps weir's choice.
///
/// All ranks must choose alike, but a plugin may answer differently on different ranks: so only rank 0's
/// plugin is asked, once the costs are known, and its answers are sent to all ranks.
///
/// A plain value: const members are thread-safe.
/// Tests: tests/library/tuner_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/base/bytes.h"
#include "src/base/options.h"
#include "src/base/status.h"
#include "src/base/types.h"
#include "src/drivers/tuner.h"

namespace weir::core {

class Bootstrap;
class Selector;

class TuningResult {
 public:
  enum class Way : uint8_t {
    own,       ///< the choice without the plugin
    exchange,  ///< the fast path, if the collective has one
    plan,      ///< the plan of `entry`
  };
  struct Answer {
    Way way = Way::own;
    uint8_t tile_divisor = 1;  ///< divides the plan's tile size, as in cost::Estimate
    uint8_t rings = 0;         ///< number of parallel rings, for a plan over rings; 0: the layout's
    uint8_t entry = 0;         ///< index into algorithms::catalogue()

    bool operator==(const Answer&) const = default;
  };

  /// Asks the plugin about every class of sizes. `exchanged`: collectives that have a fast path. Logs the
  /// choices that changed.
  static TuningResult of(drivers::Tuner& tuner, Selector& selector,
                         const std::bitset<kCollectives>& exchanged);

  Bytes encode() const;
  /// Errors: remote_error for bytes that encode() cannot have made.
  static Result<TuningResult> decode(BytesView bytes);

  /// The answer for blocks of `bytes`.
  const Answer& at(Collective kind, size_t bytes) const {
    return answers_[static_cast<size_t>(kind)]
                   [std::min(static_cast<size_t>(std::bit_width(bytes)), kClasses - 1)];
  }

 private:
  static constexpr size_t kClasses =
      41;  ///< size classes by number of significant bits, as in cost::CostTable

  std::array<std::array<Answer, kClasses>, kCollectives> answers_{};
};

/// The tuner plugin of this rank; null if there is none, or, with a warning, if it cannot be loaded.
std::unique_ptr<drivers::Tuner> tuner_for(const Options& options, const Bootstrap& bootstrap);

}  // namespace weir::core
