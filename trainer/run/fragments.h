// SPDX-License-Identifier: Apache-2.0
/// Which units of the model groups with local steps exchange after which step: Streaming DiLoCo (Douillard et
/// al., "Streaming DiLoCo with overlapping communication", 2025, algorithm 2).
///
/// The units are divided into fragments with a stride: unit u is in fragment u modulo their number. Each
/// fragment is exchanged once in Settings::local_steps steps, at an offset of its own, so that exchanges are
/// spread evenly over the steps. What an exchange yields is merged Settings::outer_delay steps after its
/// begin; it ends before the next one begins. After the last step of a run all fragments are merged: one
/// that is on its way ends early, the others are exchanged at once. One fragment without delay is DiLoCo.
/// Tests: tests/trainer/fragments_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trainer/run/settings.h"

namespace weir::trainer {

/// The given delay, or the usual one: a step if there are several fragments, else none.
Index outer_delay_of(const Settings& settings);
/// An error that names the first of the settings of fragments that is impossible.
Status check_fragments(const Settings& settings);

/// Immutable. Steps count from 0.
class Fragments {
 public:
  /// REQUIRES: check_fragments(settings).ok(), and local steps.
  explicit Fragments(const Settings& settings);

  size_t of_unit(size_t unit) const { return unit % static_cast<size_t>(count_); }
  /// Whether the exchange of a fragment is merged later than after the step in which it began.
  bool overlap() const { return delay_ > 0; }
  /// The fragment whose exchange begins after `step` and is merged later.
  std::optional<size_t> sent_after(Index step) const;
  /// The fragments that are merged after `step`.
  std::vector<size_t> merged_after(Index step) const;
  /// The fragment that is on its way when all that belongs to `step` is done.
  std::optional<size_t> in_flight_after(Index step) const;
  bool is_last(Index step) const { return step + 1 == steps_; }

 private:
  std::optional<size_t> due_after(Index step) const;

  Index steps_;  ///< of the run
  Index interval_;
  Index count_;
  Index delay_;
};

}  // namespace weir::trainer
