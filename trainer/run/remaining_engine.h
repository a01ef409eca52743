// SPDX-License-Identifier: Apache-2.0
/// The engine of a run whose ranks may have become fewer.
/// Tests: tests/trainer/chaos_test.py
#pragma once

#include <memory>

#include "trainer/run/sharded.h"

namespace weir::trainer {

/// If `regrouped`, drops pipeline and tensor parallelism, local steps and hybrid groups that the remaining
/// ranks cannot form, and rank 0 prints so. Collective. Errors: those of Sharded::create().
Result<std::unique_ptr<Sharded>> make_engine(const World& world, bool regrouped, Settings settings,
                                             const Text& text, Ops& ops);

}  // namespace weir::trainer
