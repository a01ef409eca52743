// SPDX-License-Identifier: Apache-2.0
/// How many processes that wait a job takes. Pure.
/// Tests: tests/trainer/newcomer_listener_test.cc
#pragma once

#include "trainer/run/settings.h"

namespace weir::trainer {

/// Whether so many ranks form the parts of the model and the groups of `--shard-ranks` that the settings ask
/// for. What depends on hosts is not looked at.
bool forms_groups(const Settings& settings, int ranks);

/// The largest number of at most `waiting` processes with which the ranks form_groups(); 0: none.
int admissible(const Settings& settings, int ranks, int waiting);

}  // namespace weir::trainer
