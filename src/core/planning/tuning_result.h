// SPDX-License-Identifier: Apache-2.0
/// What a tuner plugin says about the plans of a communicator: for each collective and class of sizes whether
/// it leaves the choice alone, or which way it wants.
///
/// Ranks have to choose alike, and a plugin may answer differently on different ranks: so the one of rank 0
/// is asked, once the costs are known, and all ranks get its answers.
///
/// A plain value: const members are thread-safe.
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
#include "src/base/types.h"
#include "src/drivers/tuner.h"
#include "weir/status.h"

namespace weir::core {

class Bootstrap;
class Selector;

class TuningResult {
 public:
  enum class Way : uint8_t {
    own,       ///< as it would be without the plugin
    exchange,  ///< the fast path, where there is one for the collective
    plan,      ///< that of `entry`
  };
  struct Answer {
    Way way = Way::own;
    uint8_t tile_divisor = 1;  ///< of the plan, as in cost::Estimate
    uint8_t rings = 0;         ///< side by side, where the plan is one over rings; 0: as there are
    uint8_t entry = 0;         ///< position in algorithms::catalogue()

    bool operator==(const Answer&) const = default;
  };

  /// Asks about every class of sizes. `exchanged`: collectives that have the fast path. Writes what was
  /// changed into the log.
  static TuningResult of(drivers::Tuner& tuner, Selector& selector,
                         const std::bitset<kCollectives>& exchanged);

  Bytes encode() const;
  /// Errors: remote_error for what encode() does not make.
  static Result<TuningResult> decode(BytesView bytes);

  /// For blocks of `bytes`.
  const Answer& at(Collective kind, size_t bytes) const {
    return answers_[static_cast<size_t>(kind)]
                   [std::min(static_cast<size_t>(std::bit_width(bytes)), kClasses - 1)];
  }

 private:
  static constexpr size_t kClasses = 41;  ///< by the number of significant bits, as of cost::Table

  std::array<std::array<Answer, kClasses>, kCollectives> answers_{};
};

/// The tuner of this rank; null where there is none, or where it cannot be had, which is a warning.
std::unique_ptr<drivers::Tuner> tuner_for(const Options& options, const Bootstrap& bootstrap);

}  // namespace weir::core
