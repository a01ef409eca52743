// SPDX-License-Identifier: Apache-2.0
/// The options that all ranks of a run have in common. Ranks with different ones would wait for each other
/// for ever, or train a model that no command describes. Tests: tests/trainer/common_options_test.cc
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/data/text.h"
#include "trainer/run/settings.h"
#include "trainer/run/train.h"
#include "trainer/run/world.h"

namespace weir::trainer {

struct CommonSetting {
  std::string name;
  std::string value;
};

/// Not those of one rank only, as the device and the files of its report.
std::vector<CommonSetting> common_options(const Settings& settings, const ReportSettings& report,
                                          const Text& text);

/// Success on all ranks if the options of all are equal; otherwise, on all, invalid_argument with the options
/// that differ and the ranks that have each value. Collective.
Status check_common(const World& world, const std::vector<CommonSetting>& options);

/// The options as lines of names and values.
std::string lines_of(const std::vector<CommonSetting>& options);
/// "--seed is 1 on rank 0, and 9 on rank 1": what differs between the options of ranks, as lines; empty:
/// nothing. `where`: what is said instead of "on rank 0" and so on.
std::string differences(std::span<const std::string> options, std::span<const std::string> where = {});

}  // namespace weir::trainer
