// SPDX-License-Identifier: Apache-2.0
/// What planning needs to know of the ranks that are here: measured in a second or two, alike on all of them.
#pragma once

#include "trainer/model/model.h"
#include "trainer/plan/cluster.h"
#include "trainer/plan/model.h"
#include "trainer/run/settings.h"
#include "trainer/run/world.h"

namespace weir::trainer {

/// The model as the step-time model sees it.
plan::Model plan_model(const Model& model);

/// The world as a cluster of hosts (groups.h) with equally many ranks each; as hosts of one rank where they
/// have not. FLOP/s are those of a block, forward and backward, while all ranks compute; rates and latencies
/// those of all-gathers of a block's parameters, between GPUs where ranks compute on them; the slowest rank
/// counts. Memory is Settings::memory, or else four fifths of what the host or GPU with least has left per
/// rank. Collective.
Result<plan::Cluster> survey(const World& world, const Settings& settings, const Model& model, Ops& ops);

}  // namespace weir::trainer
