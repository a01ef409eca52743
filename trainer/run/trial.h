// SPDX-License-Identifier: Apache-2.0
/// A choice of --auto beside the settings that the run would have without it: what was predicted is measured
/// before it counts.
/// Tests: tests/trainer/run_test.cc
#pragma once

#include <string>

#include "trainer/data/text.h"
#include "trainer/run/settings.h"
#include "trainer/run/world.h"

namespace weir::trainer {

/// Seconds per step.
struct Trial {
  double chosen = 0;
  double usual = 0;

  /// Unless the choice is faster by more than the noise of such a trial.
  bool keeps_usual() const { return usual < 1.05 * chosen; }
  /// One line: both times, and what is taken.
  std::string describe() const;
};

/// Runs a few steps with either settings, alternately, and throws the results away. Of each the median of the
/// steps counts, each with the time of its slowest rank. Collective; all ranks get the same times. Errors:
/// those of Sharded::create() and Sharded::step().
Result<Trial> try_both(const World& world, const Settings& chosen, const Settings& usual, const Text& text,
                       Ops& ops);

}  // namespace weir::trainer
